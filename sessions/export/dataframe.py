"""A session as a table: one row a case, with its options, its outcome and its figures."""

from typing import TYPE_CHECKING

from msgspec import structs

from benchtui.sessions.payloads import Energy, Memory
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import Distribution, Metrics, metrics
from benchtui.sessions.sweep import UNKNOWN, UNSAID_OF_LABELS, Config

if TYPE_CHECKING:
    from pandas import DataFrame

Row = dict[str, object]

_SPREAD = {
    "mean_ms": "mean",
    "median_ms": "median",
    "low_ms": "low",
    "high_ms": "high",
    "std_ms": "std",
    "p90_ms": "p90",
    "p95_ms": "p95",
    "p99_ms": "p99",
    "least_ms": "least",
    "most_ms": "most",
}
_RATES = (
    "samples_per_s",
    "tokens_per_s",
    "padded_tokens_per_s",
    "new_tokens_per_s",
    "first_step_ms",
    "cold_cost_ms",
    "between_rounds_percent",
    "loss",
    "mean_power_w",
    "energy_per_sample_j",
)


def frame(session: Session) -> "DataFrame":
    """The table; times in milliseconds, sizes in 10**6 bytes; what isn't known is missing (None, NaN)."""
    import pandas  # half a second that only a caller of this pays

    found = pandas.DataFrame([row(case) for case in session.cases], columns=list(_EMPTY))
    return found.astype(dict.fromkeys(_COUNTS, "Int64") | dict.fromkeys(_FIGURES, "float64"))


def row(case: CaseState) -> Row:
    """One case as a row; None is what isn't known."""
    return {
        "case": case.index,
        "name": case.name,
        **_options(case.config),
        "node": case.node,
        "outcome": case.state,
        "reason": case.finished.reason if case.finished else None,
        **_figures(metrics(case) if case.state == "ok" else None),
        **_memory(case.finished.memory if case.finished else None),
        **_energy(case.finished.energy if case.finished else None),
        "marks": "; ".join(case.marks) or None,
    }


def _options(config: Config) -> Row:
    options = structs.asdict(config)
    unsaid = UNSAID_OF_LABELS if config.label else ()
    return {
        name: None if name in unsaid or value in (UNKNOWN, "") else value for name, value in options.items()
    }


def _figures(found: Metrics | None) -> Row:
    spread: Distribution | None = found.latency_ms if found else None
    return {
        "n": spread.n if spread else None,
        "rounds": max(len(found.rounds_ms), 1) if found else None,
        **{name: getattr(spread, field, None) for name, field in _SPREAD.items()},
        **{name: getattr(found, name, None) for name in _RATES},
        "outliers": len(found.outliers) if found else None,
    }


def _memory(memory: Memory | None) -> Row:
    return {name: getattr(memory, name, None) for name in Memory.__struct_fields__}


def _energy(energy: Energy | None) -> Row:
    return {"energy_j": energy.energy_j if energy else None, "energy_source": energy.source if energy else None}


_EMPTY = row(CaseState(0, Config(device="cpu")))
_COUNTS = ("threads", "sequence_length", "batch_size", "n", "rounds", "outliers")
_FIGURES = (*_SPREAD, *_RATES, *Memory.__struct_fields__, "energy_j")

"""Constraints: limits on the metrics of a case, and the cases that meet them."""

from collections.abc import Callable, Sequence
from math import inf
from typing import get_args

import msgspec
from msgspec.structs import replace

from benchtui.sessions.metrics.catalogue import quantity
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.payloads import AnswerVerdict
from benchtui.sessions.stats.baseline import answer_baseline
from benchtui.sessions.stats.quantiles import LEAST_FOR_P99
from benchtui.sessions.stats.results import Result


class Constraints(msgspec.Struct, frozen=True):
    """Limits for a case, upper ones unless stated otherwise; None means no limit."""

    vram_mb: float | None = None
    """Peak memory on the device: the highest reading of driver, allocator and tensors."""
    p99_ms: float | None = None
    latency_ms: float | None = None
    """Typical step, or the mean if the source has no steps."""
    power_w: float | None = None
    """Mean power of the device during measuring."""
    kl: float | None = None
    """Mean KL divergence of the case's answer from its baseline's, in nats."""
    answer: AnswerVerdict | None = None
    """Worst acceptable verdict on that answer."""
    samples_per_s: float | None = None
    """Lower limit on the throughput."""


NONE = Constraints()


class Relaxation(msgspec.Struct, frozen=True):
    """A constraint whose relaxation alone would admit a case."""

    field: str
    """Field of ``Constraints``."""
    value: float | None
    """Smallest value that admits a case, in the unit of the field; None if no case has the metric."""
    result: Result
    """Admitted case. Without a value, a case that would pass without the constraint."""


class _Kind(msgspec.Struct, frozen=True):
    """One constraint: its metric, and the message for a case that lacks it."""

    what: str
    unit: str
    metric: Callable[[Result], float | None]
    missing_reason: Callable[[Result], str]
    text: Callable[[float], str] = "{:,.6g}".format
    """Value as text, without its unit."""
    beyond: str = "over"
    """Relation of a violating value to the limit."""
    lower: bool = False
    """Whether the limit is a lower one."""


VERDICTS: tuple[AnswerVerdict, ...] = get_args(AnswerVerdict)
"""Verdicts on an answer, best first. The ``answer`` constraint limits their index."""


def violations(result: Result, constraints: Constraints) -> list[str]:
    """Return a reason for each constraint that a case violates. A missing metric is a violation."""
    if constraints is NONE:
        return []  # saves time for very many cases
    return [reason for field in KINDS if (reason := _violation(result, constraints, field))]


def nearest_relaxations(rows: Sequence[Result], constraints: Constraints) -> tuple[Relaxation, ...]:
    """Return each constraint that alone excludes all of these cases, the nearest miss first."""
    relaxations = (_relaxation(rows, constraints, field) for field in KINDS)
    return tuple(
        sorted(
            (relaxation for relaxation in relaxations if relaxation),
            key=lambda relaxation: _distance(relaxation, constraints),
        )
    )


def _violation(result: Result, constraints: Constraints, field: str) -> str | None:
    kind, most = KINDS[field], _limit(constraints, field)
    if most is None:
        return None
    value = kind.metric(result)
    if value is None:
        return kind.missing_reason(result)
    if value >= most if kind.lower else value <= most:
        return None
    shown = f"{kind.text(value)} {kind.unit}".rstrip()
    return f"{kind.what} {shown}, {kind.beyond} {kind.text(most)}"


def _relaxation(rows: Sequence[Result], constraints: Constraints, field: str) -> Relaxation | None:
    if _limit(constraints, field) is None:
        return None
    without = replace(constraints, **{field: None})
    passing = [row for row in rows if not violations(row, without)]
    with_value = [(value, row) for row in passing if (value := KINDS[field].metric(row)) is not None]
    if not passing:
        return None
    choose = max if KINDS[field].lower else min
    return (
        Relaxation(field, *choose(with_value, key=lambda pair: pair[0]))
        if with_value
        else Relaxation(field, None, passing[0])
    )


def _distance(relaxation: Relaxation, constraints: Constraints) -> float:
    """Return how far the nearest value is beyond its limit, as their ratio."""
    if relaxation.value is None:
        return inf
    limit = _limit(constraints, relaxation.field) or 1.0
    if KINDS[relaxation.field].lower:
        return limit / relaxation.value if relaxation.value else inf
    return relaxation.value / limit


def _limit(constraints: Constraints, field: str) -> float | None:
    most: float | None = _place(constraints.answer) if field == "answer" else getattr(constraints, field)
    return most


def _place(verdict: AnswerVerdict | None) -> float | None:
    return None if verdict is None else float(VERDICTS.index(verdict))


def _kl(result: Result) -> float | None:
    """Return the divergence of a case's answer; 0 for a baseline, which others are compared with."""
    comparison = result.case.comparison
    return comparison.kl_mean if comparison else _nothing_of_a_baseline(result)


def _answer(result: Result) -> float | None:
    comparison = result.case.comparison
    return _place(comparison.verdict) if comparison else _nothing_of_a_baseline(result)


def _nothing_of_a_baseline(result: Result) -> float | None:
    """Return 0 for a case that is the baseline of answers, although no other was measured yet; else None."""
    session, case = result.session, result.case
    if session and case.index in session.answer_baselines:
        return 0.0
    if session is None or case.answered is None or case.answered.answer is None:
        return None
    sweep = session.start.sweep
    baseline = answer_baseline(case.config, session.cases, sweep.measure.baseline, sweep.task)
    return 0.0 if baseline and baseline.index == case.index else None


def _no_answer(result: Result) -> str:
    reason = result.case.answer_absent
    return f"no answer compared: {reason}" if reason else "no answer compared"


def _no_kl(result: Result) -> str:
    comparison = result.case.comparison
    if comparison is None or comparison.verdict is None:
        return _no_answer(result)
    return f"no KL divergence: its answer isn't {'finite' if comparison.verdict == 'broken' else 'logits'}"


def _no_vram(result: Result) -> str:
    return "no VRAM: ran on the CPU" if result.config.device == "cpu" else "VRAM not measured"


def _no_p99(result: Result) -> str:
    if not result.case.steps_measured:
        return "no p99: the source has no steps"
    return f"no p99: {result.metrics.latency_ms.n:,} steps, {LEAST_FOR_P99} needed"


def _kind(key: str, what: str, missing_reason: Callable[[Result], str] | None = None) -> _Kind:
    row = quantity(key)
    return _Kind(
        what,
        row.unit,
        lambda result: row.figure(CaseData.of(result)),
        missing_reason or (lambda _: f"{what} not measured"),
    )


KINDS = {
    "vram_mb": _kind("device_memory_mb", "VRAM", _no_vram),
    "p99_ms": _kind("latency_p99_ms", "p99", _no_p99),
    "latency_ms": _kind("latency_typical_ms", "step time"),
    "power_w": _kind("mean_power_w", "power"),
    "samples_per_s": _Kind(
        "throughput",
        "samples/s",
        lambda row: row.metrics.samples_per_s,
        lambda _: "throughput not measured",
        beyond="under",
        lower=True,
    ),
    "kl": _Kind("KL", "nats", _kl, _no_kl),
    "answer": _Kind("answer", "", _answer, _no_answer, lambda place: VERDICTS[int(place)].upper(), "not"),
}
"""Constraints by field."""

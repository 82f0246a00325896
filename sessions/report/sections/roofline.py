"""Roofline section: how close each case comes to its device's limits, and what limits it."""

from collections.abc import Sequence

from benchtui.sessions.analysis.roofline import (
    Limit,
    counts_recomputation,
    limit,
    model_flops_utilization,
    sound_peaks,
)
from benchtui.sessions.compare.system_facts import Fact, facts
from benchtui.sessions.events import Peaks
from benchtui.sessions.metrics.catalogue import quantity
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.formatting import GIGA, TERA, count, number, percent
from benchtui.sessions.text.quantities import column
from benchtui.sessions.text.tables import Column, Table, table, text_column

Row = tuple[Result, Limit]

LIMITS = "How close each case comes to the device's measured peaks, and what limits it."


def limits_by_case(session: Session, results: Sequence[Result]) -> list[Row]:
    """Return the limit of each case whose operations were counted."""
    peaks = sound_peaks([result.case for result in results], session.peaks)
    return [(result, case_limit) for result in results if (case_limit := limit(result.case, peaks))]


def utilization(session: Session, row: Row) -> str | None:
    """Format the MFU of a case, or its HFU if recomputed operations count."""
    result, case_limit = row
    return percent(model_flops_utilization(case_limit, result.config, session.gpu_name(result.case)))


def limits(session: Session, results: Sequence[Result]) -> Table | None:
    """Return a row for each case whose operations were counted."""
    share = Column[Row](utilization_title(session), lambda row: utilization(session, row))
    return table((*_COLUMNS[:5], share, *_COLUMNS[5:]), limits_by_case(session, results))


def limit_facts(session: Session, results: Sequence[Result]) -> tuple[Fact, ...]:
    """Return how each peak was measured."""
    peaks_of_devices = sound_peaks([result.case for result in results], session.peaks)
    return facts(
        *((f"Peaks of {_name(peaks)}{_since(session, peaks)}", _peaks(peaks)) for peaks in peaks_of_devices)
    )


def _name(peaks: Peaks) -> str:
    threads = f", {count(peaks.threads, 'thread')}" if peaks.threads else ""
    return f"{peaks.device} {peaks.precision}{threads}"


def _since(session: Session, peaks: Peaks) -> str:
    """Format the session time of peaks that were measured again after a resume; empty for others."""
    remeasured = any(resume.t <= peaks.t for resume in session.resumed)
    return f" from {number(peaks.t, 1)} s on" if remeasured else ""


def _peaks(peaks: Peaks) -> str:
    rates = (
        ("flops", peaks.flops_per_s, peaks.flops_burst_per_s, "TFLOP/s", TERA),
        ("bytes", peaks.bytes_per_s, peaks.bytes_burst_per_s, "GB/s", GIGA),
    )
    return "; ".join(_peak(peaks, *rate) for rate in rates)


def _peak(peaks: Peaks, name: str, rate: float | None, burst: float | None, unit: str, size: float) -> str:
    if rate is None:
        return f"no {unit}: {peaks.absent.get(name, 'not measured')}"
    fastest = "" if burst is None else f"; fastest {number(burst / size)}"
    return f"{number(rate / size)} {unit} ({peaks.how.get(name, 'method not recorded')}{fastest})"


def utilization_title(session: Session) -> str:
    """Return ``MFU (%)``, or ``HFU (%)`` if recomputed operations count in any case."""
    sweep = session.start.sweep
    recomputes = any(counts_recomputation(case, sweep.resolve(case.config)) for case in session.cases)
    return "HFU (%)" if recomputes else "MFU (%)"


def in_unit_of(amount: float | None, size: float) -> str | None:
    """Format an amount in units of a size; None if it is unknown."""
    return None if amount is None else number(amount / size)


def _upper_bound(share: float | None) -> str | None:
    """Format a share that is an upper bound, because caches save traffic. Above 100%, it is meaningless."""
    return "> 100" if share is not None and share > 1 else percent(share)


_COLUMNS: tuple[Column[Row], ...] = (
    text_column("Case", lambda row: row[0].name),
    Column("GFLOP/step", lambda row: in_unit_of(row[1].work.flops, GIGA)),
    Column("TFLOP/s", lambda row: in_unit_of(row[1].flops_per_s, TERA)),
    Column("Peak (TFLOP/s)", lambda row: in_unit_of(row[1].peaks.flops_per_s if row[1].peaks else None, TERA)),
    Column("Share of the measured peak (%)", lambda row: percent(row[1].shares.arithmetic)),
    Column("GB/step, upper bound", lambda row: in_unit_of(row[1].work.bytes_moved, GIGA)),
    Column("Of weights (GB/step)", lambda row: in_unit_of(row[1].work.bytes_of_weights, GIGA)),
    Column("GB/s, upper bound", lambda row: in_unit_of(row[1].bytes_per_s, GIGA)),
    Column("Peak (GB/s)", lambda row: in_unit_of(row[1].peaks.bytes_per_s if row[1].peaks else None, GIGA)),
    Column("Share of the measured bandwidth, upper bound (%)", lambda row: _upper_bound(row[1].shares.memory)),
    Column("Device busy (%)", lambda row: percent(row[1].shares.busy)),
    column(quantity("host_p50_ms"), lambda row: CaseData.of(row[0])),
    text_column("Attention kernel", lambda row: " + ".join(row[1].work.attention) or None),
    text_column("Limited by", lambda row: row[1].bound),
    text_column("Reason if unknown", lambda row: row[1].reason),
)

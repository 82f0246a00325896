"""Accuracy of estimates: what was estimated before each session of this machine, against what it measured."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

import msgspec

from benchtui.sessions.estimates.history import NEWEST, HistoryEstimator, read_session, workload_key
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Sweep


class Accuracy(msgspec.Struct, frozen=True):
    """Factors between estimated and measured values, 1 or more: 2 is twice as much, or half."""

    cases: int
    median: float
    worst: float


class EstimateAccuracy(msgspec.Struct, frozen=True):
    """Accuracy of the estimates of memory and of time; None if none could be checked."""

    memory: Accuracy | None
    time: Accuracy | None
    sessions: int


def check_estimates(entries: Iterable[SessionFile], hostname: str) -> EstimateAccuracy:
    """Estimate the newest sessions of a machine again, each from those before it, and compare."""
    here = [entry for entry in entries if entry.started.host.hostname == hostname and entry.finished]
    measured = [entry for entry in here if entry.started.simulated is None and entry.started.source is None]
    known: dict[tuple[object, ...], HistoryEstimator] = {}
    pairs: list[tuple[str, float]] = []
    for entry in reversed(measured[:NEWEST]):
        session, sweep = read_session(entry.path), entry.started.sweep
        if session is None:
            continue
        estimator = known.setdefault(workload_key(sweep), HistoryEstimator())
        estimator.learn_files(sweep.model)
        pairs += (pair for case in session.cases for pair in _factors(case, sweep, estimator))
        estimator.learn(session)
    return EstimateAccuracy(
        memory=_accuracy([factor for kind, factor in pairs if kind == "memory"]),
        time=_accuracy([factor for kind, factor in pairs if kind == "time"]),
        sessions=len(measured[:NEWEST]),
    )


def _factors(case: CaseState, sweep: Sweep, estimator: HistoryEstimator) -> Iterator[tuple[str, float]]:
    """Yield the factors of a measured case: of its peak memory, and of the time of its last round."""
    if case.state != "ok" or case.started is None or case.finished is None:
        return
    estimate = estimator.predict(case.config, sweep)
    round_s = case.finished.t - case.started.t
    if estimate.memory_mb and case.peak_memory_mb:
        yield "memory", _factor(estimate.memory_mb, case.peak_memory_mb)
    if estimate.seconds and round_s > 0:
        yield "time", _factor(estimate.seconds / sweep.measure.rounds, round_s)


def _factor(estimated: float, measured: float) -> float:
    return max(estimated / measured, measured / estimated)


def _accuracy(factors: Sequence[float]) -> Accuracy | None:
    return Accuracy(len(factors), median(factors), max(factors)) if factors else None

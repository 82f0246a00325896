"""Step annotations: what happened during the measured steps of a case."""

from collections.abc import Iterator

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.distribution import Distribution
from benchtui.sessions.stats.evidence import outliers_of
from benchtui.tui.panels.signs import Signs


def signs_of(session: Session, case: CaseState, spread: Distribution | None) -> Signs:
    """Return outliers, throttling, compilation, and round starts of a case."""
    starts = {round_index: first for round_index, first, _ in reversed(case.measured.spans())}
    return Signs(
        outliers=outliers_of(case, spread) if spread else (),
        throttled=tuple(_throttled(session, case)),
        compiling=tuple(_compiling(case, starts)),
        rounds=tuple((round_index + 1, first) for round_index, first in starts.items() if first),
    )


def round_of(case: CaseState) -> int:
    """Return the current or last round of a case, counted from 0."""
    return case.started.round if case.started else 0


def _throttled(session: Session, case: CaseState) -> Iterator[tuple[int, int]]:
    """Yield spans of steps in which heat or power supply throttled the case's GPU."""
    index = session.gpu_of(case)
    held = session.ran_on(case).throttle_spans.get(index, []) if index is not None else []
    spans = [span for span in held if span.throttled]
    first = 0
    for end, t in case.measured.event_ends if spans else ():
        begun = t - sum(case.measured.wall_ms[first:end]) / 1000
        if any(span.start_s < t and span.end_s >= begun for span in spans):
            yield first, end
        first = end


def _compiling(case: CaseState, starts: dict[int, int]) -> Iterator[int]:
    """Yield the steps that the worker reported as compiling, indexed over all rounds."""
    ended = [(round_.round, round_.compiling) for round_ in case.rounds]
    if case.finished is not None:
        ended.append((max(starts, default=0), case.finished.compiling))
    for round_index, compiling in ended:
        for step in compiling.unsteady if compiling else ():
            yield starts.get(round_index, 0) + step

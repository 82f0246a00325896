"""Selection of the cases to explain."""

from collections.abc import Iterable

from msgspec.structs import replace

from benchtui.sessions.advice.objectives import usual_objective
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import NOT_MEASURED, baselines
from benchtui.sessions.stats.results import Result, by_work, measured
from benchtui.sessions.sweep import Explain


def selected(session: Session, wanted: Iterable[Explain]) -> tuple[int, ...]:
    """Return the indices of the measured cases that ``measure.explain`` selects, in plan order.

    Each work has a separate baseline, and a separate best case: the one with the highest throughput.
    """
    results, indices = measured(session), set[int]()
    for name in wanted:
        indices.update(case.index for case in _named(session, results, name))
    return tuple(sorted(indices))


def _named(session: Session, results: tuple[Result, ...], name: Explain) -> list[CaseState]:
    if name == "all":
        return [case for case in session.cases if case.state == "ok"]
    cases = [item.case for item in results]
    if name == "baseline":
        return list(baselines(cases, session.start.sweep.measure.baseline).values())
    usual = usual_objective(session, results)
    decisions = (decide(session, replace(usual, work=work), results) for work in by_work(results))
    return [item.best.case for item in decisions if item.best]


def require_explainable(session: Session, index: int) -> CaseState:
    """Return a case that can be explained. Raises BenchtuiError with the reason if it can't."""
    if session.start.source:
        raise BenchtuiError(
            f"imported from {session.start.source}; only cases that benchtui measured can be explained"
        )
    if session.simulated:
        raise BenchtuiError("the session is simulated: there is nothing to run again")
    if not 0 <= index < len(session.cases):
        amount = len(session.cases)
        raise BenchtuiError(f"no case {index + 1}; the session has {amount} cases, numbered from 1")
    case = session.cases[index]
    if case.state != "ok":
        raise BenchtuiError(f"case {index + 1}, {case.name}, {NOT_MEASURED[case.state]}: nothing to explain")
    return case

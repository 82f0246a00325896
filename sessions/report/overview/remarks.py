"""Remarks below the results: large parts of a step, and cases that weren't measured."""

from collections.abc import Collection, Iterator, Sequence

from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result
from benchtui.sessions.sweep import custom_task
from benchtui.sessions.text.formatting import count, percent
from benchtui.sessions.text.labels import case_name

NOTABLE_SHARE = 0.1
"""Minimum share of a step for tokenizing, or a part of a user-defined step, to be mentioned."""
MOST_PARTS = 3
"""Maximum number of parts to mention."""
MOST_OUTCOMES = 8
"""Maximum number of outcomes of unmeasured cases to mention. All of them are in the full report."""


def remarks(session: Session, results: Sequence[Result], varying: Collection[str]) -> list[str]:
    """Return a sentence for each remark."""
    return [*_parts(session, results, varying), *_unmeasured_cases(session, varying)]


def _parts(session: Session, results: Sequence[Result], varying: Collection[str]) -> Iterator[str]:
    """Yield tokenizing or, of a user-defined step, the largest parts, each with the case it is largest in."""
    names = list(dict.fromkeys(name for result in results for name in result.metrics.parts_ms))
    if not custom_task(session.start.sweep.task):
        names = [name for name in names if name == "tokenize"]
    elif len(names) < 2:
        return
    shares = sorted(((*_largest_share(name, results), name) for name in names), key=lambda part: -part[0])
    for share, most, name in shares[:MOST_PARTS]:
        if share >= NOTABLE_SHARE:
            yield f"Part {name} takes up to {percent(share)} % of a step ({case_name(most.config, varying)})."


def _largest_share(part: str, results: Sequence[Result]) -> tuple[float, Result]:
    """Return the largest share of a step that a part takes in any case, and that case."""
    shares = [
        (result.metrics.parts_ms[part].mean / result.metrics.latency_ms.mean, result)
        for result in results
        if part in result.metrics.parts_ms and result.metrics.latency_ms.mean > 0
    ]
    return max(shares, key=lambda pair: pair[0], default=(0.0, results[0]))


def _unmeasured_cases(session: Session, varying: Collection[str]) -> list[str]:
    """Count the cases that weren't measured, by outcome and reason."""
    cases_by_reason: dict[tuple[str, str], list[CaseState]] = {}
    for case in session.cases:
        if not case.has_result:
            cases_by_reason.setdefault((outcome(case), _reason(case)), []).append(case)
    named = {key: case_name(cases[0].config, varying) for key, cases in cases_by_reason.items()}
    return [_unmeasured(*key, len(cases), named[key]) for key, cases in cases_by_reason.items()][:MOST_OUTCOMES]


def _unmeasured(ended: str, reason: str, cases: int, first: str) -> str:
    names = first if cases == 1 else f"such as {first}"
    why = reason.removeprefix(ended).lstrip(" :")  # the reason may begin with the outcome
    return f"{count(cases, 'case')} {ended} ({names}){f': {why}' if why else ''}."


def _reason(case: CaseState) -> str:
    return (case.finished.reason if case.finished else None) or ""

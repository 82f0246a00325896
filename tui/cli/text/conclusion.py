"""Conclusion of a session as plain lines and as JSON: what to run, how certain that is, and what stays open."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchtui.sessions.advice.conclusion import Conclusion, Conclusions, Remaining, conclude
from benchtui.sessions.advice.objectives import find_objective
from benchtui.sessions.advice.optimal import works
from benchtui.sessions.advice.snippet import no_snippet_reason
from benchtui.sessions.export.case_rows import case_row
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.library import paths
from benchtui.sessions.report.compare_json import RatioJson, ratio_json
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import simulation_note
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text import conclusion as wording
from benchtui.sessions.text.wording import figure
from benchtui.tui.cli.schema.records import Record
from benchtui.tui.cli.text import optimal
from benchtui.tui.cli.text.next import QuestionJson, question_json
from benchtui.tui.cli.text.output import aligned

MOST_WORKS = 3
"""Number of works with an answer in lines; the rest are only counted. The JSON has all."""


class ConclusionJson(Record, frozen=True, kw_only=True):
    """Answer for the cases of one work."""

    decision: optimal.DecisionJson
    decided: bool
    """Whether to run the best case, as the report says."""
    rivals: tuple[QuestionJson, ...]
    """Cases that may be better, each with the best one."""
    baseline: CaseRow | None
    no_baseline: str | None
    """Why there is no baseline."""
    against_baseline: RatioJson | None
    """How many times as good the best case is as the baseline. Null for the baseline itself."""
    alternative: CaseRow | None
    """Case to run for latency, or for throughput if latency is the objective. Null if it is the best case."""


class ConclusionsJson(Document, frozen=True, kw_only=True):
    """Last line of ``run --json``."""

    id_: str = document_id("run")
    session: str
    """Path of the session."""
    outcome: str | None
    """How the sweep ended. Null if its engine crashed."""
    states: dict[str, int]
    """Number of cases in each state."""
    works: tuple[ConclusionJson, ...]
    """Empty if nothing was measured."""
    open: tuple[QuestionJson, ...]
    remaining: Remaining | None
    """Measurement that would decide the open questions. Null if none would."""
    text: tuple[str, ...]
    """The same in words."""


def conclusions_of(session: Session) -> Conclusions:
    """Return what a session says, by the objective of its search if it was one."""
    wanted = session.start.sweep.find
    return conclude(session, find_objective(session, wanted) if wanted else None)


def lines(session: Session, conclusions: Conclusions, path: Path) -> Iterator[str]:
    """Yield the answer: what to run, how certain that is, what stays open, and the commands that follow.

    Text from the session is not sanitized.
    """
    if (note := simulation_note(session.start)) is not None:
        yield note
    several = len(conclusions.works) > 1
    for conclusion in conclusions.works[:MOST_WORKS]:
        where = str(conclusion.best.config.work) if several else ""
        yield from aligned("", wording.headline(conclusion, where))
        for about, text in wording.facts(conclusion):
            if not several or about in ("confidence", "next best", "baseline"):
                yield from aligned(about, text)
    command = shell_word(paths.library_name(path))
    if (rest := len(conclusions.works) - MOST_WORKS) > 0:
        yield f"and {rest:,} more: benchtui optimal {command}"
    if not conclusions.works:
        yield wording.nothing_measured(session)
        return
    follow_up = f"; benchtui next {command} --run" if conclusions.remaining else ""
    yield from aligned("open", f"{wording.open_text(conclusions)}{follow_up}")
    use = _command_to_use(session, conclusions.works[0].best, command)
    yield from aligned("use it", f"{use}; report: benchtui export {command}")


def _command_to_use(session: Session, best: Result, command: str) -> str:
    """Return the command that prints a best case as code, or writes its sweep if it has no code."""
    form = "--snippet" if no_snippet_reason(session, best.case) is None else "--toml best.toml"
    work, rivals, chosen = best.config.work, works(session), list[str]()
    if len({rival.model for rival in rivals}) > 1:
        chosen.append(f"--model {shell_word(work.model)}")
        rivals = tuple(rival for rival in rivals if rival.model == work.model)
    if len({rival.sequence_length for rival in rivals}) > 1:
        chosen.append(f"--sequence-length {work.sequence_length}")
        rivals = tuple(rival for rival in rivals if rival.sequence_length == work.sequence_length)
    return " ".join(("benchtui optimal", command, *chosen, *([form] if len(rivals) == 1 else [])))


def lines_so_far(session: Session) -> Iterator[str]:
    """Yield the best case of each work so far, and how certain that is, in a line each."""
    for conclusion in conclude(session).works[:MOST_WORKS]:
        best = figure(conclusion.best, conclusion.choice.objective.need)
        sure = wording.certainty_so_far(conclusion)
        yield f"best so far: {conclusion.best.name}, {best}; {sure}"


def document(session: Session, conclusions: Conclusions, path: Path) -> ConclusionsJson:
    """Return the answer as a JSON record."""
    return ConclusionsJson(
        session=str(path),
        outcome=session.finished.outcome if session.finished else None,
        states=Counter(case.state for case in session.cases),
        works=tuple(_document(session, conclusion) for conclusion in conclusions.works),
        open=tuple(map(question_json, conclusions.open)),
        remaining=conclusions.remaining,
        text=tuple(lines(session, conclusions, path)),
    )


def _document(session: Session, conclusion: Conclusion) -> ConclusionJson:
    base, other = conclusion.baseline, conclusion.alternative and conclusion.alternative.best
    return ConclusionJson(
        decision=optimal.document(session, conclusion.choice),
        decided=conclusion.decided,
        rivals=tuple(map(question_json, conclusion.rivals)),
        baseline=case_row(base.case, base) if base else None,
        no_baseline=conclusion.no_baseline or None,
        against_baseline=ratio_json(conclusion.against_baseline),
        alternative=case_row(other.case, other) if other else None,
    )

"""Open questions as plain text and JSON: what a session can't tell, and what would decide it."""

from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.advice.open_questions import About, Obstacle, OpenQuestion, Remedy, noise_is_assumed
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.report.compare_json import RatioJson, ratio_json
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import simulation_note
from benchtui.sessions.sweep import Sweep, toml_writer
from benchtui.sessions.sweep.plan import included_configs
from benchtui.sessions.text.formatting import capitalized, count
from benchtui.sessions.text.race import asked, conclusions, decided_by
from benchtui.sessions.text.wording import sentences
from benchtui.tui.cli.text.optimal import MOST_LINES, CaseName, named


class QuestionJson(msgspec.Struct, frozen=True, kw_only=True):
    """Open question, with what decides it. A field of the remedy is null if the sweep's own value does."""

    about: tuple[About, ...]
    cases: tuple[CaseName, ...]
    """Of a pair, the base comes first."""
    text: str
    """Question and remedy in words."""
    ratio: RatioJson | None
    """Speed of the second case relative to the first."""
    remedy: Remedy | None
    obstacle: Obstacle | None
    """Why no new sweep decides it."""


class NextJson(Document, frozen=True, kw_only=True):
    """Open questions of a session, with the sweep that decides them."""

    id_: str = document_id("next")
    simulated: str | None
    """``SIMULATED``, and by which model. Null if it was measured."""
    questions: tuple[QuestionJson, ...]
    """Empty if nothing is open."""
    cases: int
    """Cases of the sweep; 0 if there is none."""
    rounds: int | None
    """Rounds of the sweep. Null if there is none, or with ``rounds = "auto"``."""
    sweep: str | None
    """Sweep that decides what can be decided, as TOML. Null if nothing can be."""


def document(session: Session, questions: Sequence[OpenQuestion], sweep: Sweep | None) -> NextJson:
    """Return the questions and the sweep as a JSON record."""
    return NextJson(
        simulated=simulation_note(session.start),
        questions=tuple(map(question_json, questions)),
        cases=_case_count(sweep) if sweep else 0,
        rounds=sweep.measure.rounds if sweep and not sweep.measure.rounds_auto else None,
        sweep=toml_writer.toml_of(sweep) if sweep else None,
    )


def lines(session: Session, questions: Sequence[OpenQuestion], sweep: Sweep | None) -> Iterator[str]:
    """Yield the questions as text, then what decides them. Text from the session is not sanitized."""
    if (note := simulation_note(session.start)) is not None:
        yield note
    if not questions:
        yield "nothing is open: every verdict is decided"
        if noise_is_assumed(session):
            yield "note: verdicts assume how much two equal cases differ here; measure.aa = true measures it"
        return
    yield count(len(questions), "open question")
    for question in questions[:MOST_LINES]:
        yield f"  {asked(question)}"
        yield f"    {_decided_by(question)}"
    if len(questions) > MOST_LINES:
        yield f"  and {len(questions) - MOST_LINES:,} more; --json lists all"
    if sweep is None:
        yield "no new sweep decides any of them"
    else:
        decided = sum(question.remedy is not None for question in questions)
        them = "them" if decided == len(questions) else f"{decided:,} of them"
        yield f"to decide {them}: {sweep_text(sweep)}"


def sweep_text(sweep: Sweep) -> str:
    """Describe a sweep: its cases, rounds and steps."""
    rules = sweep.measure
    rounds = count(rules.rounds, "round")
    if rules.rounds_auto:
        rounds = "rounds that benchtui plans until they are decided"
    again = ", and the baseline again" if rules.aa else ""
    steps = "" if rules.until_error or rules.rounds_auto else f" of {count(rules.iterations, 'step')}"
    return f"{count(_case_count(sweep), 'case')} in {rounds}{steps}{again}"


def text(question: OpenQuestion) -> str:
    """Say what is open, and what decides it."""
    what, names = asked(question), tuple(case.name for case in question.cases)
    return sentences(what if what.startswith(names) else capitalized(what), capitalized(_decided_by(question)))


def question_json(question: OpenQuestion) -> QuestionJson:
    """Return a question as a JSON record."""
    return QuestionJson(
        about=question.about,
        cases=tuple(CaseName(**named(case)) for case in question.cases),
        text=text(question),
        ratio=ratio_json(question.ratio),
        remedy=question.remedy,
        obstacle=question.obstacle,
    )


def _decided_by(question: OpenQuestion) -> str:
    open_ = conclusions(question)
    return f"open: {open_}; {decided_by(question)}" if open_ else decided_by(question)


def _case_count(sweep: Sweep) -> int:
    return sum(1 for _ in included_configs(sweep))

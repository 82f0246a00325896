"""Open questions as plain text and JSON: what a session can't tell, and what would decide it."""

from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.advice.open_questions import (
    MOST_MEASURING_S,
    ROUNDS_WORTH,
    About,
    Obstacle,
    OpenQuestion,
    Remedy,
    noise_is_assumed,
)
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.report.compare_json import RatioJson, ratio_json
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import simulation_note
from benchtui.sessions.sweep import Sweep, toml_writer
from benchtui.sessions.sweep.plan import included_configs
from benchtui.sessions.text.formatting import capitalized, count, listed
from benchtui.sessions.text.wording import ratio_cell, sentences
from benchtui.tui.cli.text.optimal import MOST_LINES, CaseName, named

_ABOUT: dict[About, str] = {
    "verdict": "the verdict",
    "best throughput": "which case has the most throughput",
    "best latency": "which case has the shortest step",
    "best": "which case is the best",
    "effect": "the effect of an option",
    "front": "the Pareto front",
}
"""Conclusion that depends on a pair of cases, in words."""
_OBSTACLES: dict[Obstacle, str] = {
    "close": "no number of rounds decides it: the ratio lies too close to the limit of a verdict",
    "many rounds": f"more than {ROUNDS_WORTH} rounds would decide it: too close to call",
    "steps": "more rounds don't decide it: compare the distributions of their steps",
    "totals": "more rounds don't decide it: a few long steps do; choose by typical steps or by the total time",
    "no interval": "the record has too few steps to test it",
    "files": "files of the step, the model or the dataset changed between them: run the sweep again",
    "long": f"measuring it would take more than {MOST_MEASURING_S / 60:.0f} minutes per round",
    "resume": "resume the session: benchtui run --resume SESSION",
}


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
        yield f"  {_asked(question)}"
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
    return sentences(*map(capitalized, (_asked(question), _decided_by(question))))


def _asked(question: OpenQuestion) -> str:
    names = [case.name for case in question.cases]
    match question.about[0]:
        case "noise":
            return "how much two equal cases differ on this machine wasn't measured, so verdicts assume it"
        case "interval":
            return f"{names[0]}: its time limit ended it before its interval was as narrow as requested"
        case "time limit":
            return f"{names[0]}: ran into its time limit"
        case "not measured":
            late = ", for which no time was left" if question.late else ""
            return f"{count(len(names), 'case')} left to measure{late}"
        case _:
            shown = f": {ratio_cell(question.ratio)}" if question.ratio else ""
            return f"{names[1]} against {names[0]}{shown}"


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
    open_ = listed([text for word in question.about if (text := _ABOUT.get(word))])
    prefix = f"open: {open_}; " if open_ else ""
    if question.obstacle:
        return f"{prefix}{_OBSTACLES[question.obstacle]}"
    remedy = question.remedy or Remedy()
    steps = f" of {count(remedy.steps, 'step')}" if remedy.steps else ""
    parts = [
        f"{count(remedy.rounds, 'round')}{steps}" if remedy.rounds else None,
        "further rounds by turns" if remedy.by_turns else None,
        "repeating disturbed rounds" if remedy.repeat_disturbed else None,
        "an A/A pair (the baseline twice)" if remedy.aa else None,
        f"max_time = {remedy.max_time_s:g} s" if remedy.max_time_s else None,
        f"timeout = {remedy.timeout_s:g} s" if remedy.timeout_s else None,
        "measuring them" if question.late else None,
    ]
    return f"{prefix}decided by {listed([part for part in parts if part])}"


def _case_count(sweep: Sweep) -> int:
    return sum(1 for _ in included_configs(sweep))

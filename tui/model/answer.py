"""Answer of a session for the Monitor: what to run so far or at the end, how certain that is, what is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import count, ratio_span
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.model.row_cells import VERDICT_ROLES, ratio_cell
from benchtui.tui.panels.answer_card import PENDING, Answer, Fact, Rival, WorkAnswer
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import CaseNames, config_name

if TYPE_CHECKING:
    from benchtui.sessions.advice.conclusion import Conclusion, Conclusions
    from benchtui.sessions.stats.verdicts import Ratio
    from benchtui.sessions.sweep import Config

MOST_RIVALS = 4
MOST_NEXT = 2
"""Maximum number of rivals, and of cases measured next, that are named."""
EVALUATING = "evaluating the measurements"


class Ending(NamedTuple):
    """End of a session: a word with its color, and the reason."""

    word: str
    role: str
    reason: str


def ending_of(session: Session, cut_off: bool, exit_message: str = "") -> Ending | None:
    """Return how a session ended; None while it is running. ``cut_off``: its engine has gone without an end."""
    finished = session.finished
    if finished is None and not cut_off:
        return None
    if finished is None:
        why = exit_message or "the recording is incomplete; measurements are kept"
        return Ending("engine gone", "bad", format.clean(why))
    role = {"completed": "good", "interrupted": "warning"}.get(session.ending, "bad")
    return Ending(session.ending, role, format.clean(finished.reason or ""))


class AnswerText:
    """Formats conclusions in the words of the report, with the names and symbols of the screen."""

    def __init__(self, session: Session, names: CaseNames, symbols: Symbols, command_name: str) -> None:
        """Create it for a session with a name on the command line."""
        self._session = session
        self._names = names.without_shared()
        self._symbols = symbols
        self._command_name = command_name

    def answer(self, ending: Ending | None, conclusions: Conclusions | None) -> Answer:
        """Return the answer of a session: at its ``ending``, or so far."""
        works = conclusions.works if conclusions else ()
        if ending is None:
            return Answer(
                word="so far",
                role="muted",
                about=_settled(self._session),
                right=_progress(self._session),
                over=False,
                works=tuple(self._so_far(work) for work in works),
                notes=tuple(self._next(self._session)) if works else (),
            )
        session = self._session
        return Answer(
            word=ending.word,
            role=ending.role,
            about=self._counts(session),
            right=f"in {format.duration(session.now_s)}",
            over=True,
            works=tuple(self._final(work) for work in works),
            notes=tuple(self._notes(ending, conclusions)),
            note_role="plain" if works else ending.role,
            keys=tuple(_keys(session, conclusions)),
        )

    def _final(self, work: Conclusion) -> WorkAnswer:
        from benchtui.sessions.text.conclusion import facts

        ordered = [(about, self._plain(text)) for about, text in facts(work, self._name)]
        # its ratio is among the figures already, and marks of all cases are in the heading
        last = {"baseline": work.against_baseline is not None, "marked": self._marked_like_all(work.best.case)}
        ordered.sort(key=lambda fact: last.get(fact[0], False))
        return self._work(work, ordered)

    def _marked_like_all(self, best: CaseState) -> bool:
        return all(set(best.marks) <= set(case.marks) for case in self._session.cases if case.state == "ok")

    def _so_far(self, work: Conclusion) -> WorkAnswer:
        rivals = tuple(self._rivals(work))[:MOST_RIVALS]
        return self._work(work, [("confidence", self._certainty(work))], rivals)

    def _work(self, work: Conclusion, facts: list[Fact], rivals: tuple[Rival, ...] = ()) -> WorkAnswer:
        name, figures, certainty = self._name(work.best.config), self._figures(work), self._certainty(work)
        return WorkAnswer(name, figures, certainty, work.decided, tuple(facts), rivals)

    def _certainty(self, work: Conclusion) -> str:
        from benchtui.sessions.text.conclusion import certainty_so_far

        return self._plain(certainty_so_far(work))

    def _figures(self, work: Conclusion) -> tuple[str, ...]:
        from benchtui.sessions.text.conclusion import costs_per_step
        from benchtui.sessions.text.wording import figure

        ratio = work.against_baseline
        against = [self._against_base(ratio)] if ratio else [PENDING] * work.baseline_pending
        texts = (figure(work.best, work.choice.objective.need), *against, *costs_per_step(work.best))
        return tuple(map(self._plain, texts))

    def _against_base(self, ratio: Ratio) -> str:
        """Format the ratio to the baseline as the table does, with its interval; without one, the verdict."""
        if ratio.shown is None:
            return f"base: {ratio.verdict.name}"
        shown, _ = ratio_cell(ratio.shown, ratio.verdict, self._symbols)
        interval = ratio_span(ratio.low, ratio.high, ratio.value)
        return f"{shown} base ({interval})" if interval else f"{shown} base"

    def _rivals(self, work: Conclusion) -> Iterator[Rival]:
        from benchtui.sessions.text.wording import ratio_with_interval

        for question in work.rivals:
            ratio = question.ratio
            other = next(case for case in question.cases if case.index != work.best.case.index)
            if ratio is None:
                continue
            yield Rival(
                name=self._name(other.config),
                text=self._plain(ratio_with_interval(ratio)),
                role=VERDICT_ROLES[ratio.verdict],
                bounds=(ratio.low, ratio.high) if ratio.low is not None and ratio.high is not None else None,
            )

    def _next(self, session: Session) -> Iterator[Fact]:
        upcoming = [*session.running, *session.pending]
        if not upcoming:
            return
        names = ", ".join(self._name(case.config) for case in upcoming[:MOST_NEXT])
        more = f" and {len(upcoming) - MOST_NEXT:,} more" if len(upcoming) > MOST_NEXT else ""
        yield "next", f"{names}{more}: {_why_next(session)}"

    def _notes(self, ending: Ending, conclusions: Conclusions | None) -> Iterator[Fact]:
        from benchtui.sessions.text.conclusion import nothing_measured, open_text

        session = self._session
        if ending.reason:
            yield "reason", ending.reason
        if conclusions is None:
            yield "", EVALUATING
        elif not conclusions.works:
            yield "reason", self._plain(conclusions.problem or nothing_measured(session))
        else:
            yield "open", self._plain(open_text(conclusions))
        if session.left:
            yield "left", f"{count(session.left, 'case')}: benchtui run --resume {self._command_name}"

    def _counts(self, session: Session) -> str:
        outcomes = Counter("incomplete" if case.state == "running" else case.state for case in session.cases)
        return f" {self._symbols.dot} ".join(
            f"{amount:,} {state}" for state, amount in sorted(outcomes.items())
        )

    def _name(self, config: Config) -> str:
        return format.clean(" ".join(self._names.text(config).split()) or config_name(config))

    def _plain(self, text: str) -> str:
        """Return a text without control characters; on a terminal limited to ASCII, without other signs."""
        written = format.clean(text).replace(" ×", "x")
        return format.ascii_text(written) if self._symbols.about.isascii() else written


def _settled(session: Session) -> str:
    """Count the cases that aren't measured further, because their comparisons are decided."""
    plan = session.rounds_planned
    return f"{len(plan.settled):,} of {count(len(session.cases), 'case')} settled" if plan else ""


def _progress(session: Session) -> str:
    """Return what is left of the budget when rounds were last planned, or the round of a fixed number."""
    measure, plan = session.start.sweep.measure, session.rounds_planned
    if plan is not None:
        remaining_s = max(0.0, plan.budget_s - plan.spent_s)
        return f"{format.duration(remaining_s)} left of {format.duration(plan.budget_s)}"
    done = min((len(case.ends) for case in session.cases if case.finished is None), default=measure.rounds)
    return f"round {min(done + 1, measure.rounds)} of {measure.rounds}" if measure.rounds > 1 else ""


def _why_next(session: Session) -> str:
    measure, plan = session.start.sweep.measure, session.rounds_planned
    if session.waiting:
        return format.clean(session.waiting[-1].reason)
    if plan is not None:
        return f"another round for {count(plan.open_questions, 'open question')}"
    if measure.rounds_auto:
        return "every case gets one round first"
    return (
        "every case of the plan gets a round" if measure.rounds == 1 else "every case gets the planned rounds"
    )


def _keys(session: Session, conclusions: Conclusions | None) -> Iterator[str]:
    if session.left:
        yield f"{key('monitor.again')} continue"
    if conclusions and conclusions.remaining:
        yield f"{key('monitor.measure')} measure what is open"
    if conclusions is None or conclusions.works:
        yield f"{key('monitor.copy_report')} copy report"
        if not session.simulated or any(case.explained for case in session.cases):
            yield f"{key('monitor.why')} why"
        yield f"{key('monitor.compare')} compare"
        yield f"{key('monitor.export')} save report"
    yield f"{key('monitor.edit')} change and run again"
    yield f"{key('app.charts')} heatmap"

"""Screen "Why": profiles a case if it has no profile yet, and shows what takes its time."""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from textual.widget import Widget

from benchtui.sessions.events import Explained
from benchtui.sessions.explain.cases import ExplainedCase, explained_case
from benchtui.sessions.explain.difference import difference
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.explain.sentences import step_sentence
from benchtui.sessions.explain.trials import Trial, trials
from benchtui.sessions.permissions.needed import Permission
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, crop, fitting_facts, justify, wrap_line
from benchtui.tui.explain.lines import CaseStatus, WhyView, why_lines
from benchtui.tui.live.explainer import Explainer, RemedyTrials
from benchtui.tui.pages.page import TextScreen
from benchtui.tui.shell import keymap
from benchtui.tui.table.case_names import case_name
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.panel import Panel

RENEW_S = 0.5


class Side(msgspec.Struct, frozen=True):
    """A case of a session that the page shows."""

    session: Callable[[], Session]
    """Returns the session. A replay that seeks has a new one."""
    explainer: Explainer
    index: int
    name: str = ""
    """Name of the session, if the page shows two."""


class WhyScreen(TextScreen):
    """Explanation of one case, or of the difference between two."""

    DEFAULT_CSS = "WhyScreen #heading { height: 2; margin: 0 1; }"
    NAME = "why"
    HELP = "why"
    BINDINGS = keymap.table(
        "why",
        ("b", "base", "Compare with the next profiled case", "the baseline first; then with none"),
        ("r", "again", "Profile the case again"),
        ("T", "try", "Try the remedies", "in alternating rounds with the case, in the same session"),
        ("right,n", "next", "Next case", "", "case(1)"),
        ("left,N", "previous", "Previous case", "", "case(-1)"),
        *keymap.scrolling(),
        ("question_mark,f1", "help", "Help"),
        ("escape,q,enter", "back", "Back", "", "leave"),
    )

    def __init__(self, side: Side, symbols: Symbols, base: Side | None = None) -> None:
        """Explain a case; with ``base``, its difference from that case."""
        super().__init__(symbols)
        self._side = side
        self._base = base
        self._fixed = base is not None
        """Whether the base is a case of another session."""
        self._known: dict[object, ExplainedCase | None] = {}
        """Explained cases by their inputs. Cached, because the comparison with peaks looks at all cases."""
        self._tried: dict[object, tuple[Trial, ...]] = {}
        """Trials of the shown case, by their inputs. Cached, because they need the metrics of all cases."""

    def content(self) -> Iterable[Widget]:
        """Lay out the header and the explanation."""
        yield Panel(self._heading, self._symbols, id="heading")
        yield from super().content()

    def on_mount(self) -> None:
        """Profile what has no profile yet, and draw regularly. Textual calls the base's handler as well."""
        self._request()
        self.set_interval(RENEW_S, self.draw)

    def action_again(self) -> None:
        """Profile the case again."""
        self._side.explainer.request(self._side.session(), self._side.index)
        self.draw()

    def action_try(self) -> None:
        """Measure the remedies of the case's findings next to it."""
        if case := self._status(self._side).case:
            self._remedies.request(self._session, case)
        self.draw()

    def action_case(self, by: int) -> None:
        """Explain the next or previous case, unless the page is about one case of two sessions."""
        if self._fixed:
            return
        last = len(self._side.session().cases) - 1
        index = min(max(self._side.index + by, 0), last)
        self._side, self._top = msgspec.structs.replace(self._side, index=index), 0
        if self._base and self._base.index == index:
            self._base = None
        self._request()
        self.draw()

    def action_base(self) -> None:
        """Compare with the next profiled case of the session. After the last one, compare with none."""
        if not self._fixed:
            choices = self._bases()
            place = choices.index(self._base.index) + 1 if self._base and self._base.index in choices else 0
            following = choices[place] if place < len(choices) else None
            base = None if following is None else msgspec.structs.replace(self._side, index=following)
            self._base, self._top = base, 0
        self.draw()

    def draw(self) -> None:
        """Redraw what changed. If profiling needs permissions, ask for them instead."""
        if self.is_current and not self._ask_permission():
            super().draw()

    def text(self, width: int) -> Sequence[Line]:
        """Return the lines of the explanation."""
        view = self._view()
        self._panel("heading").show(view)
        return why_lines(view, width, self._symbols)

    def _keys(self) -> Keys:
        compare = (("b", "compare"),) if not self._fixed and (self._base or self._bases()) else ()
        others = () if self._fixed else (*compare, ("n N", "case"))
        again = () if self._side.session().simulated else (("r", "profile again"), ("T", "try"))
        return (*others, *again)

    def _request(self) -> None:
        for side in (self._side, self._base):
            if side and side.explainer.explained(side.session(), side.index) is None:
                side.explainer.request(side.session(), side.index)

    def _ask_permission(self) -> bool:
        """Ask about code and variables that profiling needs, if any. Return whether there is a question."""
        for side in (self._side, self._base):
            if side and (permissions := side.explainer.question.take()):
                self._open_question(side.explainer, permissions)
                return True
        return False

    def _open_question(self, explainer: Explainer, permissions: tuple[Permission, ...]) -> None:
        from benchtui.tui.pages.questions import PermissionScreen  # rarely needed

        def answer(yes: bool | None) -> None:
            if yes:
                explainer.question.allow(permissions)
            self.draw()

        self.app.push_screen(PermissionScreen(explainer.path.name, permissions, self._symbols), answer)

    def _bases(self) -> list[int]:
        """Return the profiled cases to compare with, that of the session's baseline first."""
        session, explainer, own = self._side.session(), self._side.explainer, self._side.index
        bases = [
            case.index
            for case in session.cases
            if (explained := explainer.explained(session, case.index))
            and explained.profile
            and case.index != own
        ]
        named = session.start.sweep.measure.baseline
        return sorted(bases, key=lambda index: not (named and named.matches(session.cases[index].config)))

    def _view(self) -> WhyView:
        case = self._status(self._side)
        base = self._status(self._base) if self._base else None
        gap = difference(base.case, case.case) if base and base.case and case.case else None
        tried = self._trials(case.case) if case.case else ()
        return WhyView(case, base, findings(case.case) if case.case else (), gap, tried, self._remedies.status)

    @property
    def _remedies(self) -> RemedyTrials:
        return self._side.explainer.remedies

    @property
    def _session(self) -> Session:
        """The session of the page, with the cases of the newest trial."""
        return self._remedies.joined or self._side.session()

    def _trials(self, case: ExplainedCase) -> tuple[Trial, ...]:
        key = (id(self._session), case.case.index, id(case))
        if key not in self._tried:
            self._tried = {key: trials(self._session, case)}
        return self._tried[key]

    def _status(self, side: Side) -> CaseStatus:
        session = side.session()
        case = session.cases[side.index]
        side.explainer.forget_queued(session)
        explained = side.explainer.explained(session, side.index)
        problem = side.explainer.problem(side.index) or (explained.absent if explained else "")
        return CaseStatus(
            name=labeled(clean(case_name(case)), session.start),
            number=case.index + 1,
            session=side.name,
            case=self._explained(session, case, explained) if explained else None,
            progress=side.explainer.progress(side.index),
            problem=problem or "",
        )

    def _explained(self, session: Session, case: CaseState, explained: Explained) -> ExplainedCase | None:
        key = (id(session), case.index, id(explained), session.done)
        if key not in self._known:
            self._known[key] = explained_case(session, msgspec.structs.replace(case, explained=explained))
        return self._known[key]

    def _heading(self, view: WhyView, width: int, height: int, symbols: Symbols) -> list[Line]:
        """Render the case, and the one that it is compared with, or the times of its step."""
        position = f"case {view.case.number} of {len(self._side.session().cases)}"
        facts = step_sentence(view.case.case).split(", ") if view.case.case else [""]
        if view.base:
            facts = [f"against {view.base.label}: {view.base.name}"]
        beside = len(view.case.name) + len(position) < width
        name = [(view.case.name, "strong")]
        first = [justify(name, [(position, "muted")], width, symbols)] if beside else wrap_line(name, width)
        second = fitting_facts([[(fact, "muted")] for fact in facts], width)
        return [*first, second or crop([(facts[0], "muted")], width, symbols)][:height]

"""Case screen: one case in sections, with key bindings for the next and previous case."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult

from benchtui.sessions.analysis.roofline import Limit, limit, sound_peaks
from benchtui.sessions.events import Peaks
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.simulation import labeled
from benchtui.sessions.stats.case_metrics import Metrics
from benchtui.sessions.stats.evidence import computed_metrics
from benchtui.sessions.stats.sampling import Bounds
from benchtui.themes.symbols import Symbols
from benchtui.tui.case.distribution import bin_step_times, distribution_lines
from benchtui.tui.case.steps import StepTable
from benchtui.tui.case.summary import case_markdown, detail_lines, error_lines, machine_lines, without_steps
from benchtui.tui.case.telemetry import readings_in_memory, trace_lines
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import (
    Line,
    Span,
    crop,
    fitting_facts,
    justify,
    line,
    width_of,
    wrap_facts,
    wrap_line,
)
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.live.feed import Feed
from benchtui.tui.live.step_statistics import CaseMetrics
from benchtui.tui.model.case_rows import ROLES
from benchtui.tui.model.row_cells import base_cell
from benchtui.tui.model.session_view import READING
from benchtui.tui.pages.view_screen import ViewScreen
from benchtui.tui.shell import keymap
from benchtui.tui.shell.key_queue import HOLDS_KEYS
from benchtui.tui.table.case_names import case_name
from benchtui.tui.table.mark_words import mark_word
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.panel import Panel, given_lines

RENEW_S = 1.0
RELOAD_POLL_S = 0.1
"""Seconds between checks for reloaded data."""
READINGS_RELOADING = "reloading its readings"
SECTIONS = ("summary", "distribution", "steps", "telemetry", "machine", "error")


class CaseScreen(ViewScreen):
    """Screen for one case, redrawn every second. The screen below keeps reading the session."""

    DEFAULT_CSS = """
    CaseScreen #heading { height: 2; margin: 0 1; }
    CaseScreen #section { height: 1fr; }
    CaseScreen #page { height: 1fr; }
    CaseScreen #word { height: 1; margin: 0 1; }
    """
    HELP = "case"
    BINDINGS = keymap.table(
        "case",
        ("tab,l", "section", "Next section", "", "section(1)"),
        ("shift+tab,h", "section_before", "Previous section", "", "section(-1)"),
        ("right,n", "next", "Next case", "in the same section", "case(1)"),
        ("left,N", "previous", "Previous case", "", "case(-1)"),
        *keymap.movement("line"),
        ("right_curly_bracket", "outlier", "Next outlier", "among the steps", "outlier(1)"),
        ("left_curly_bracket", "outlier_before", "Previous outlier", "", "outlier(-1)"),
        ("W", "why", "Why", "profile the case again, and show where the time of its step goes"),
        ("y", "copy", "Copy the case as markdown", "to the clipboard, over SSH too"),
        ("question_mark,f1", "help", "Help"),
        ("escape,q,enter", "back", "Back", "", "leave"),
    )

    def __init__(
        self, feed: Feed, index: int, symbols: Symbols, judge: Callable[[], CaseVerdicts | None] = lambda: None
    ) -> None:
        """Show a case; ``judge`` returns the verdicts of the screen below."""
        super().__init__(symbols)
        self._judge = judge
        self._feed = feed
        self._index = index
        self._section = 0
        self._at = 0
        """First visible line; in the step table, the selected row."""
        self._scrolls = False
        self._metrics = CaseMetrics()
        self._valid_peaks: tuple[int, tuple[Peaks, ...]] | None = None
        """Cached peaks that no case exceeded, with the number of ended cases they are based on."""
        self._busy = False
        self._message = ""

    def content(self) -> ComposeResult:
        """Lay out the header, the current section, and the message line."""
        signs = self._symbols
        yield Panel(self._header, signs, id="heading")
        yield Frame(Panel(given_lines, signs, id="page"), symbols=signs, id="section")
        yield Panel(self._message_lines, signs, id="word")

    def on_mount(self) -> None:
        """Draw what is known, and start computing the rest. Textual calls the base's handler as well."""
        self.set_interval(RENEW_S, self.tick)
        self.call_after_refresh(self.tick)

    def tick(self) -> None:
        """Redraw, and compute metrics if the case has new steps."""
        if not self.is_current:
            return
        self.draw(self._feed.cache.problem or None)
        if self._case_with_steps is None or (SECTIONS[self._section] == "telemetry" and self._machine is None):
            if self._feed.cache.has_pending_work:
                self.run_worker(self._feed.cache.run_pending())
            self.set_timer(RELOAD_POLL_S, self.tick)
        elif not self._busy and self._metrics.is_due(self._case):
            self.run_worker(self._compute(), name="" if self._metrics.of(self._case) else HOLDS_KEYS)

    def on_click(self, event: events.Click) -> None:
        """Show the clicked section."""
        heading = self._panel("heading")
        at = event.get_content_offset(heading) if event.widget is heading else None
        if at is not None and at.y == 1:
            tabs = heading.lines()[1]
            starts = [tabs.index(section.capitalize()) for section in SECTIONS if section.capitalize() in tabs]
            self.action_section(bisect_right(starts, at.x) - 1 - self._section)

    def action_leave(self) -> None:
        """Return to the screen below."""
        self.dismiss()

    def action_section(self, by: int) -> None:
        """Show another section from its first line."""
        self._section = (self._section + by) % len(SECTIONS)
        self._at = 0
        self.draw("")

    def action_case(self, by: int) -> None:
        """Show the next or previous case in the same section."""
        self._index = min(max(self._index + by, 0), len(self._feed.session.cases) - 1)
        self._at = 0
        self._message = ""
        self.tick()

    def action_move(self, lines: int) -> None:
        """Scroll by lines; in the step table, by rows."""
        self._at += lines
        self.draw("")

    def action_outlier(self, by: int) -> None:
        """Select the next or previous outlier in the step table."""
        if SECTIONS[self._section] != "steps":
            self._section, self._at = SECTIONS.index("steps"), 0
        row = self._steps().next_outlier(self._at, by)
        if row is None:
            known = self._known
            return self.draw("no more outliers" if known and known.outliers else "no outliers")
        self._at = row
        self.draw("")

    def action_copy(self) -> None:
        """Copy everything known about the case as Markdown."""
        self.app.copy_to_clipboard(
            case_markdown(self._case, self._known, self._reached, self._symbols, self._step_ms)
        )
        self.draw("copied as markdown")

    def action_why(self) -> None:
        """Open the Why page of the case."""
        from benchtui.tui.explain.screen import Side, WhyScreen  # imports statistics that no other page needs

        feed = self._feed
        side = Side(lambda: feed.session, feed.explainer, self._index)
        self.app.push_screen(WhyScreen(side, self._symbols))

    @property
    def _case_in_memory(self) -> CaseState:
        """Case as kept in memory; its steps may be evicted."""
        return self._feed.session.cases[self._index]

    @property
    def _case(self) -> CaseState:
        """Case, including its steps once they are loaded."""
        return self._case_with_steps or self._case_in_memory

    @property
    def _case_with_steps(self) -> CaseState | None:
        """Case with its steps; None while they are being reloaded."""
        if self._case_in_memory.steps_in_memory:
            return self._case_in_memory
        loaded = self._feed.load_case(self._case_in_memory)
        return loaded.case if loaded else None

    @property
    def _machine(self) -> MachineState | None:
        """Machine the case ran on, with its readings; None while they are being reloaded."""
        machine = self._feed.session.ran_on(self._case_in_memory)
        if readings_in_memory(self._case_in_memory, machine, self._feed.now_s):
            return machine
        loaded = self._feed.load_case(self._case_in_memory)
        return loaded.machine if loaded else None

    @property
    def _reached(self) -> Limit | None:
        session = self._feed.session
        if self._valid_peaks is None or self._valid_peaks[0] != session.done:
            self._valid_peaks = (session.done, sound_peaks(session.cases, session.peaks))
        return limit(self._case, self._valid_peaks[1])

    @property
    def _step_ms(self) -> Bounds | None:
        judge = self._judge()
        return judge.step_bounds(self._case) if judge else None

    @property
    def _known(self) -> Metrics | None:
        return self._metrics.of(self._case) or computed_metrics(self._case)

    async def _compute(self) -> None:
        self._busy = True
        try:
            await self._metrics.compute_batch([self._case])
        finally:
            self._busy = False
        self.tick()

    def draw(self, message: str | None = None) -> None:
        """Redraw what changed, if the screen is visible. Show ``message`` unless it is None."""
        self._message = self._message if message is None else message
        if not self.is_current:
            return
        page = self._panel("page")
        width, height = page.size
        with self.app.batch_update():
            self._panel("heading").show()
            self.query_one(Frame).show_title([(SECTIONS[self._section], "muted")])
            page.show(self._window(width, height))
            self._panel("word").show()
            self._panel("keys").show(self._keys())
            self._show_brief()

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return the state of the case and the current section."""
        facts = [*self._facts(self._symbols), [(SECTIONS[self._section], "accent")]]
        head = [part for drawn in wrap_facts(facts, width) for part in wrap_line(drawn, width)]
        return [*head, *self._window(width, height - len(head))]

    def _window(self, width: int, height: int) -> Sequence[Line]:
        if SECTIONS[self._section] == "steps":
            steps = self._steps()
            self._scrolls = steps.count > 1
            if not steps.count:
                return [crop([(self._placeholder(), "muted")], width, self._symbols)]
            self._at = min(max(self._at, 0), steps.count - 1)
            return steps.lines(self._at, width, height, self._symbols)
        lines = self._lines(width, height)
        self._at, self._scrolls = max(0, min(self._at, len(lines) - height)), len(lines) > height
        return lines[self._at : self._at + height]

    def _lines(self, width: int, height: int) -> Sequence[Line]:
        case, metrics, symbols = self._case, self._known, self._symbols
        match SECTIONS[self._section]:
            case "summary":
                return detail_lines(case, metrics, width, symbols, self._step_ms)
            case "distribution":
                if metrics is None or self._case_with_steps is None:
                    return [crop([(self._placeholder(), "muted")], width, symbols)]
                bins = bin_step_times(case.measured.wall_ms, metrics.outliers)
                return distribution_lines(metrics, bins, width, symbols)
            case "telemetry":
                if (machine := self._machine) is None:
                    return [line((READINGS_RELOADING, "muted"))]
                return trace_lines(
                    self._feed.session, case, machine, self._feed.now_s, (width, height), symbols
                )
            case "machine":
                return machine_lines(case, metrics, self._reached, width, symbols)
            case _:
                return error_lines(case, width, symbols)

    def _placeholder(self) -> str:
        if self._case_with_steps is None:
            return READING
        return "computing" if self._busy else without_steps(self._case)

    def _steps(self) -> StepTable:
        metrics = self._known
        return StepTable(self._case, metrics.outliers if metrics else ())

    def _header(self, width: int, height: int, symbols: Symbols) -> list[Line]:
        *facts, position = self._facts(symbols)
        left = fitting_facts(facts, width)
        beside = position if width_of([*left, *position]) < width else []
        tabs: list[Span] = []
        for section in SECTIONS:
            here = section == SECTIONS[self._section]
            mark = symbols.chosen if here else " "
            tabs.append((f"{mark}{section.capitalize()} ", "accent" if here else "muted"))
        return [justify(left, beside, width, symbols), crop(tabs, width, symbols)]

    def _facts(self, symbols: Symbols) -> list[list[Span]]:
        """Return the case, its state, its ratio if it has one, and its position among the cases."""
        case, session = self._case, self._feed.session
        state = (f"{getattr(symbols, case.state)} {case.state}", ROLES[case.state])
        disturbed = mark_word(case.marks, case.marks) if case.state == "ok" else None
        judge, metrics = self._judge(), self._known
        if disturbed is None and judge and metrics and judge.is_unsteady(case, metrics.latency_ms):
            disturbed = "unsteady"
        if disturbed is not None:
            state = (f"{symbols.flag} {disturbed}", "warning")
        name = labeled(clean(case_name(case)), session.start)
        ratio, role = base_cell(case, judge, symbols) if judge and case.has_result else ("", "plain")
        against: list[Span] = [(ratio, role), (" base" if ratio != "base" else "", "muted")]
        position = f"case {case.index + 1} of {len(session.cases)}"
        return [[(name, "strong")], [state], *([against] if ratio else []), [(position, "muted")]]

    def _message_lines(self, width: int, height: int, symbols: Symbols) -> list[Line]:
        return [crop([(self._message or self._note(), "plain")], width, symbols)]

    def _note(self) -> str:
        if SECTIONS[self._section] != "steps" or not self._steps().count:
            return ""
        metrics = self._known
        outliers = f", {len(metrics.outliers):,} of them outliers" if metrics else ""
        return f"{self._steps().count:,} steps{outliers}"

    def _keys(self) -> Keys:
        last = ("{ }", "outlier") if SECTIONS[self._section] == "steps" else ("y", "copy")
        scroll = ((self._symbols.arrows, "scroll"),) if self._scrolls else ()
        return (
            ("tab", "section"),
            ("n N", "case"),
            ("W", "why"),
            last,
            *scroll,
            ("?", "help"),
            ("esc", "back"),
        )

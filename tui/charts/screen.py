"""Charts view: metrics over the axes of a sweep, and its Pareto front. Updated while the sweep is running."""

import time
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input

from benchtui.themes.symbols import Symbols
from benchtui.tui.charts.line_chart import LineChart
from benchtui.tui.charts.pareto_chart import ParetoChart
from benchtui.tui.drawing.listing import Listing, listing_lines
from benchtui.tui.drawing.plot import Plot, plot_lines
from benchtui.tui.drawing.styled_text import Line, Span, crop, justify
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.live.feed import Feed
from benchtui.tui.live.metrics_worker import CaseMetrics
from benchtui.tui.shell import keymap
from benchtui.tui.shell.navigation import Place
from benchtui.tui.shell.terminal import TerminalHandle
from benchtui.tui.widgets import role_styles
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.nav_bar import place_lines
from benchtui.tui.widgets.panel import Panel, small_lines

REFRESH_S = 1.0

Heading = tuple[tuple[Span, ...], ...]
"""Chart title, active filter and scale, and the selected point."""


class Charts(Screen[None]):
    """Charts of the session that the Monitor reads, redrawn every second while visible."""

    COMPONENT_CLASSES = role_styles.CLASSES
    BINDINGS: ClassVar[list[BindingType]] = keymap.table(
        "charts",
        ("f", "figure", "figure(1)", "Next metric"),
        ("F", "figure_before", "figure(-1)", "Previous metric"),
        ("x", "axis", "axis", "Next axis", "or, on the Pareto front, the next cost"),
        ("down,j", "down", "move_line(1)", "Next line, or next case of the front"),
        ("up,k", "up", "move_line(-1)", "Previous line"),
        ("home,g", "first", "move_line(-100000)", "First line"),
        ("end,G", "last", "move_line(100000)", "Last line"),
        ("right", "right", "move_point(1)", "Next point of the line"),
        ("left", "left", "move_point(-1)", "Previous point"),
        ("enter", "detail", "detail", "Details of the selected case"),
        ("p", "pareto", "pareto", "Pareto front or lines", "the front: cases that no other case dominates"),
        ("l", "logarithmic", "logarithmic", "Logarithmic or linear"),
        ("slash", "filter", "filter", "Filter the lines", "by words such as fp16; esc clears them"),
        ("y", "copy", "copy", "Copy the table as markdown", "to the clipboard, over SSH too"),
        ("escape", "back", "back", "Back", "clear the filter, leave the front, then go to the Monitor"),
        ("question_mark,f1", "help", "help", "Help"),
        ("q", "quit", "app.leave", "Quit"),
    )

    def __init__(self, feed: Feed, symbols: Symbols, link: TerminalHandle) -> None:
        super().__init__()
        self._feed = feed
        self._symbols = symbols
        self._link = link
        self._reset()
        self._pareto = False
        self._busy = False
        self._drew_s = 0.0
        self._word = ""

    def compose(self) -> ComposeResult:
        """Lay out the heading, the plot and its lists, the filter input, the message line, and the key bar."""
        signs = self._symbols
        yield Panel[str](small_lines, signs, id="small")
        with Vertical(classes="body"):
            yield Panel[Place](place_lines, signs, id="places")
            yield Panel[Heading](_heading, signs, id="heading")
            with Horizontal(id="middle"):
                yield Panel[Plot](plot_lines, signs, id="plot")
                with Vertical(id="lists"):
                    yield Panel[Listing](listing_lines, signs, id="lines")
                    yield Panel[Listing](listing_lines, signs, id="points")
            yield Input(
                placeholder="words of a line, such as fp16", id="filter", compact=True, select_on_focus=False
            )
            yield Panel[str](_word, signs, id="word")
            yield KeyBar(signs)

    def on_mount(self) -> None:
        """Start the refresh timer, and draw for the first time."""
        self._panel("small").show("")
        self._panel("places").show("charts")
        self.query_one(Input).cursor_blink = False
        self.set_interval(REFRESH_S, self.tick)
        self.call_after_refresh(self.tick)

    def on_resize(self, event: events.Resize) -> None:
        """Redraw once the panels have their new sizes."""
        self.call_after_refresh(self._draw)

    def on_screen_resume(self) -> None:
        """Catch up on changes made while another screen was shown."""
        self.tick()

    def tick(self) -> None:
        """Compute metrics that are new since the last tick, and redraw."""
        if self.is_current and not self._busy:
            self.run_worker(self._update_metrics())

    def action_figure(self, by: int) -> None:
        """Show another metric; from the front, return to the lines."""
        if not self._pareto:
            self._lines.next_metric(by)
        self._pareto = False
        self._draw("")

    def action_axis(self) -> None:
        """Switch to another axis; on the front, to another cost."""
        self._draw(self._front.next_cost() if self._pareto else self._lines.next_axis())

    def action_move_line(self, by: int) -> None:
        """Select another line, or another case of the front."""
        if self._pareto:
            self._front.move(by)
        else:
            self._lines.move_line(by)
        self._draw("")

    def action_move_point(self, by: int) -> None:
        """Select another point of the line, or another case of the front."""
        if self._pareto:
            self._front.move(by)
        else:
            self._lines.move_point(by)
        self._draw("")

    def action_pareto(self) -> None:
        """Toggle between the lines and the Pareto front."""
        self._pareto = not self._pareto
        self._draw("")

    def action_logarithmic(self) -> None:
        """Toggle between a logarithmic and a linear vertical axis."""
        self._lines.choice.logarithmic = not self._lines.choice.logarithmic
        self._draw("")

    def action_filter(self) -> None:
        """Open the filter input."""
        self.query_one(Input).add_class("-asked").focus()

    @on(Input.Changed)
    def filter_by(self, event: Input.Changed) -> None:
        """Show only lines that contain the typed words."""
        self._lines.choice.filter_text = event.value
        self._draw("")

    @on(Input.Submitted)
    def close_filter(self) -> None:
        """Hide the filter input, and keep the filter."""
        self.query_one(Input).remove_class("-asked")
        self.set_focus(None)

    def action_back(self) -> None:
        """Clear the filter; without one, leave the front; else return to the Monitor."""
        asked = self.query_one(Input)
        if asked.value or asked.has_class("-asked"):
            asked.value = ""
            self.close_filter()
        elif self._pareto:
            self.action_pareto()
        else:
            self.run_worker(self.app.run_action("app.go('monitor')"))

    def action_copy(self) -> None:
        """Copy the selected line, or the front, as Markdown."""
        table = (self._front if self._pareto else self._lines).markdown()
        if table:
            self.app.copy_to_clipboard(table)
        self._draw("copied as markdown" if table else "nothing to copy yet")

    def action_detail(self) -> None:
        """Open the screen of the selected case."""
        from benchtui.tui.case.screen import CaseScreen  # lazy import: not needed for the first paint

        case = (self._front if self._pareto else self._lines).case
        if case is None:
            self._draw("no case to show yet")
        else:
            self.app.push_screen(CaseScreen(self._feed, case.index, self._symbols))

    def action_help(self) -> None:
        """Open the help page."""
        from benchtui.tui.charts.help import charts_help  # lazy import: not needed for the first paint
        from benchtui.tui.pages.help import open_help

        open_help(self, self._symbols, charts_help)

    def _reset(self) -> None:
        self._session = self._feed.session
        self._metrics = CaseMetrics(self._session)
        self._judge = CaseVerdicts(self._session, self._feed.judging)
        self._judged = 0
        self._lines = LineChart(self._session, self._metrics.of, self._symbols, self._judge)
        self._front = ParetoChart(self._session, self._metrics.of, self._symbols)

    async def _update_metrics(self) -> None:
        self._busy = True
        if self._session is not self._feed.session:  # the session was reloaded
            self._reset()
        try:
            while self._session.started is not None and await self._metrics.compute_batch():
                if time.monotonic() - self._drew_s > REFRESH_S:
                    self._draw()
        finally:
            self._busy = False
        self._draw()

    def _draw(self, word: str | None = None) -> None:
        """Redraw what changed. Skipped while the screen is covered or the terminal is still writing."""
        self._word = self._word if word is None else word
        if not self.is_current or self._link.congested:
            return
        self._drew_s = time.monotonic()
        ended = self._feed.ended
        for case in ended[self._judged :]:
            self._judge.add_ended(case)
        self._judged = len(ended)
        self._lines.update()
        if self._pareto:
            self._front.update(self._lines.choice.filter_text, self._lines.choice.logarithmic)
        shown = self._front if self._pareto else self._lines
        with self.app.batch_update():
            self.set_class(self._pareto, "-pareto")
            self._panel("heading").show(_heading_of(shown))
            self._panel("plot").show(shown.plot())
            self._panel("lines").show(shown.lines())
            self._panel("points").show(self._lines.points())
            self._panel("word").show(self._word)
            self._panel("keys").show(self._keys())

    def _keys(self) -> Keys:
        other, back = ("cost", "lines") if self._pareto else ("axis", "Pareto")
        always = (("q", "quit"), ("?", "help"), ("f", "metric"))
        return (*always, ("x", other), ("p", back), ("/", "filter"), ("enter", "detail"))

    def _panel(self, name: str) -> Panel[Any]:
        return self.query_one(f"#{name}", Panel)


def _heading_of(shown: LineChart | ParetoChart) -> Heading:
    return ((shown.title, "strong"),), (("   ".join(shown.notes), "muted"),), tuple(shown.readout())


def _heading(heading: Heading, width: int, height: int, symbols: Symbols) -> list[Line]:
    title, notes, readout = heading
    return [justify(title, notes, width, symbols), crop(readout, width, symbols)]


def _word(word: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [crop([(word, "plain")], width, symbols)]

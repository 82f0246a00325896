"""Charts view: metrics over the axes of a sweep, and its Pareto front. Updated while the sweep is running."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input

from benchtui.sessions.state.simulation import labeled
from benchtui.themes.symbols import Symbols
from benchtui.tui.charts.heatmap import HeatmapChart
from benchtui.tui.charts.line_chart import LineChart
from benchtui.tui.charts.pareto_chart import ParetoChart
from benchtui.tui.drawing.heat_grid import Heatmap, full_width, heatmap_lines, map_case_at
from benchtui.tui.drawing.listing import list_case_at, listing_blocks, listing_lines, natural_width
from benchtui.tui.drawing.plot import Plot, plot_case_at, plot_lines
from benchtui.tui.drawing.styled_text import GAP, Line, crop, fitting_facts, justify, line
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.live.feed import Feed
from benchtui.tui.live.step_statistics import CaseMetrics
from benchtui.tui.pages.view_screen import ViewScreen
from benchtui.tui.shell import keymap
from benchtui.tui.shell.key_queue import HOLDS_KEYS
from benchtui.tui.shell.navigation import BackRequested
from benchtui.tui.shell.terminal import TerminalHandle
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.input_field import FilterInput
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.panel import Panel

REFRESH_S = 1.0

MIN_LIST, MAX_LIST = 36, 64
"""Minimum and maximum width of the list next to a heatmap, in cells."""
FRAME = 4
"""Cells of a frame and its padding."""
MAX_LIST_HEIGHT = 8
"""Maximum number of lines of the lists below the plot."""

View = Literal["map", "lines", "front"]
TITLES: dict[View, tuple[str, str]] = {
    "map": ("heatmap", "cases"),
    "lines": ("lines", "lines and their cases"),
    "front": ("Pareto front", "cases on the front"),
}
"""Titles of the chart and of the lists, by view."""


Shown = LineChart | ParetoChart | HeatmapChart
CASE_AT: dict[str, Callable[[Any, tuple[int, int], tuple[int, int], Symbols], int | None]] = {
    "map": map_case_at,
    "plot": plot_case_at,
    "lines": list_case_at,
    "points": list_case_at,
}
"""Function that finds the case at a position, by panel."""


class Charts(ViewScreen):
    """Charts of the session that the Monitor reads, redrawn every second while visible."""

    DEFAULT_CSS = """
    Charts #heading { height: 2; margin: 0 1; }
    Charts #middle { width: 100%; height: 1fr; }
    Charts #chart { width: 1fr; height: 100%; }
    Charts #map { display: none; width: 100%; height: 100%; }
    Charts.-map #map { display: block; }
    Charts.-map #plot, Charts.-map #points { display: none; }
    Charts.-map #lines { max-height: 100%; }
    Charts #plot { width: 100%; height: 100%; }
    Charts #side { height: 100%; }
    Charts #lists { width: 100%; height: 100%; }
    Charts #lines { height: 1fr; max-height: 14; margin: 0 0 1 0; }
    Charts #points { height: 1fr; }
    Charts #word { height: 1; margin: 0 1; }
    Charts.-pareto #points { display: none; }
    Charts.-pareto #lines { max-height: 100%; }
    Charts.-narrow #middle { layout: vertical; }
    Charts.-narrow #chart { width: 100%; height: 1fr; }
    Charts.-narrow #side { width: 100%; height: 9; }
    Charts.-narrow #lists { layout: horizontal; }
    Charts.-narrow #lines { width: 1fr; height: 100%; margin: 0 2 0 0; }
    Charts.-narrow #points { width: 1fr; height: 100%; }
    Charts.-map.-alone #side, Charts.-map.-narrow #side { display: none; }
    """
    PLACE = "charts"
    HELP = "charts"
    BINDINGS = keymap.table(
        "charts",
        ("f", "figure", "Next metric", "", "figure(1)"),
        ("F", "figure_before", "Previous metric", "", "figure(-1)"),
        ("tab", "section", "Heatmap or line chart", "", "view"),
        ("v", "axis", "Next variable", "of the heatmap the next two; on the Pareto front the next cost"),
        ("down,j", "down", "Next line, row, or case of the front", "", "move_line(1)"),
        ("up,k", "up", "Previous line", "", "move_line(-1)"),
        ("home,g", "first", "First line", "", "move_line(-100000)"),
        ("end,G", "last", "Last line", "", "move_line(100000)"),
        ("right,l", "right", "Next point of the line, or next column", "", "move_point(1)"),
        ("left,h", "left", "Previous point", "", "move_point(-1)"),
        ("enter", "detail", "Details of the selected case"),
        ("p", "pareto", "Pareto fronts", "cases that no other case dominates; again: back"),
        ("L", "logarithmic", "Logarithmic or linear"),
        ("slash", "filter", "Filter the lines", "by words such as fp16; esc clears them"),
        ("y", "copy", "Copy the table as markdown", "to the clipboard, over SSH too"),
        ("escape", "back", "Back", "clear the filter, leave the front, then go to the previous page"),
        ("question_mark,f1", "help", "Help"),
        ("q", "quit", "Quit", "", "app.leave"),
    )

    def __init__(self, feed: Feed, symbols: Symbols, link: TerminalHandle) -> None:
        super().__init__(symbols)
        self._feed = feed
        self._link = link
        self._home: View = "map"
        """Chart to return to from the fronts: heatmap or lines."""
        self._view: View = "map"
        self._automatic = True
        """Whether to show the heatmap once the sweep has one, because the user hasn't chosen a chart yet."""
        self._reset()
        self._busy = False
        self._drew_s = 0.0
        self._word = ""

    def content(self) -> ComposeResult:
        """Lay out the heading, the plot and its lists, the filter input, and the message line."""
        signs = self._symbols
        yield Panel(self._heading, signs, id="heading")
        with Horizontal(id="middle"):
            heatmap = Panel(heatmap_lines, signs, id="map")
            yield Frame(heatmap, Panel(plot_lines, signs, id="plot"), symbols=signs, id="chart")
            listings = (Panel(listing_lines, signs, id=name) for name in ("lines", "points"))
            yield Frame(Vertical(*listings, id="lists"), symbols=signs, id="side")
        yield FilterInput(placeholder="words of a line, such as fp16")
        yield Panel(self._message, signs, id="word")

    def on_mount(self) -> None:
        """Start the refresh timer, and draw for the first time. Textual calls the base's handler as well."""
        self.set_interval(REFRESH_S, self.tick)
        self.call_after_refresh(self.tick)

    def on_screen_resume(self) -> None:
        """Catch up on changes made while another screen was shown."""
        self.tick()

    def on_click(self, event: events.Click) -> None:
        """Select the case of the clicked cell, point or row. A double click opens it."""
        panel = event.widget
        at = event.get_content_offset(panel) if panel is not None and panel.id in CASE_AT else None
        if at is None or not isinstance(panel, Panel) or not panel.shown:
            return
        index = CASE_AT[panel.id or ""](panel.shown[0], at, panel.size, self._symbols)
        if index is not None:
            self._shown.select(self._session.cases[index])
            self.draw("")
            if event.chain == 2:
                self.action_detail()

    def tick(self) -> None:
        """Compute metrics that are new since the last tick, and redraw."""
        if self.is_current and not self._busy:
            self.run_worker(self._update_metrics(), name="" if self._drew_s else HOLDS_KEYS)

    def action_figure(self, by: int) -> None:
        """Show another metric. From the front, return to the previous chart."""
        if self._view == "front":
            self._view = self._home
        else:
            self._lines.next_metric(by)
        self.draw("")

    def action_view(self) -> None:
        """Toggle between the heatmap and the lines, keeping the selected case."""
        case = self._shown.case
        self._map.update()
        if not self._map.available:
            self.draw("a heatmap needs two options with several values; this sweep has one")
            return
        self._view = self._home = "lines" if self._home == "map" else "map"
        self._automatic = False
        if case is not None and self._view == "map":
            self._map.select(case)
        elif case is not None:
            self._lines.select(case)
        self.draw("")

    def action_axis(self) -> None:
        """Switch to another axis; on the front, to another cost."""
        self.draw(self._shown.next_axis())

    def action_move_line(self, by: int) -> None:
        """Select another line, another row, or another case of the front."""
        self._shown.move_line(by)
        self.draw("")

    def action_move_point(self, by: int) -> None:
        """Select another point of the line, another column, or another case of the front."""
        self._shown.move_point(by)
        self.draw("")

    def action_pareto(self) -> None:
        """Toggle between the Pareto fronts and the previous chart."""
        self._view = self._home if self._view == "front" else "front"
        self.draw("")

    def action_logarithmic(self) -> None:
        """Toggle between a logarithmic and a linear vertical axis."""
        self._lines.choice.logarithmic = not self._lines.choice.logarithmic
        self.draw("")

    def action_filter(self) -> None:
        """Open the filter input."""
        self.query_one(FilterInput).ask()

    @on(Input.Changed)
    def filter_by(self, event: Input.Changed) -> None:
        """Show only lines that contain the typed words."""
        self._lines.choice.filter_text = event.value
        self.draw("")

    @on(Input.Submitted)
    def close_filter(self) -> None:
        """Hide the filter input, and keep the filter."""
        self.query_one(FilterInput).hide()

    def action_back(self) -> None:
        """Clear the filter; else leave the front; else return to the previous view."""
        if self.query_one(FilterInput).reset():
            return
        if self._view == "front":
            self.action_pareto()
        else:
            self.post_message(BackRequested())

    def action_copy(self) -> None:
        """Copy the selected line, the ranking, or the fronts as Markdown."""
        table = self._shown.markdown()
        if table:
            self.app.copy_to_clipboard(table)
        self.draw("copied as markdown" if table else "nothing to copy yet")

    def action_detail(self) -> None:
        """Open the screen of the selected case."""
        from benchtui.tui.case.screen import CaseScreen  # lazy import: not needed for the first paint

        self._update_charts()
        case = self._shown.case
        if case is None:
            self.draw("no case to show yet")
        else:
            self.app.push_screen(CaseScreen(self._feed, case.index, self._symbols, lambda: self._judge))

    def _reset(self) -> None:
        self._session = self._feed.session
        self._metrics = CaseMetrics()
        self._judge = CaseVerdicts(self._session, self._feed.judging)
        self._judged = 0
        self._lines = LineChart(self._session, self._metrics.of, self._symbols, self._judge)
        self._front = ParetoChart(self._session, self._metrics.of, self._symbols)
        choice, newest = self._lines.choice, self._feed.conclusions.newest
        self._map = HeatmapChart(self._session, self._metrics.of, self._symbols, self._judge, choice, newest)
        self._home = self._view = "map"
        self._automatic = True

    async def _update_metrics(self) -> None:
        self._busy = True
        if self._session is not self._feed.session:  # the session was reloaded
            self._reset()
        try:
            while self._session.started is not None and await self._metrics.compute_batch(self._session.cases):
                if time.monotonic() - self._drew_s > REFRESH_S:
                    self.draw()
        finally:
            self._busy = False
        self.draw()

    def draw(self, word: str | None = None) -> None:
        """Redraw what changed. Skipped while the screen is covered or the terminal is still writing."""
        self._word = self._word if word is None else word
        if not self.is_current or self._link.congested:
            return
        self._drew_s = time.monotonic()
        self._update_charts()
        shown = self._shown
        with self.app.batch_update():
            self.set_class(self._view == "front", "-pareto")
            self.set_class(self._view == "map", "-map")
            self._panel("heading").show()
            for name, title in (("chart", TITLES[self._view][0]), ("side", TITLES[self._view][1])):
                self.query_one(f"#{name}", Frame).show_title([(title, "muted")])
            self._show_plot(shown.plot())
            self._panel("lines").show(shown.lines())
            self._panel("points").show(self._lines.points())
            self._panel("word").show()
            self._panel("keys").show(self._keys())
            self._show_brief()

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return the title of the chart, and its cases, the best first."""
        title = line((self._shown.title, "strong"))
        best_first = replace(self._shown.lines(), chosen=None)
        if natural_width(best_first) > width:
            return [title, *listing_blocks(best_first, width)]
        return [title, *listing_lines(best_first, width, height - 1, self._symbols)]

    def _heading(self, width: int, height: int, symbols: Symbols) -> list[Line]:
        """Render the title with active filter and scale, and facts about the selected point."""
        title, notes = labeled(self._shown.title, self._feed.session.start), self._shown.notes
        while notes and len(title) + len(GAP) + len(GAP.join(notes)) > width:
            notes = notes[1:]
        head = justify([(title, "strong")], [(GAP.join(notes), "muted")], width, symbols)
        return [head, fitting_facts(self._shown.readout(), width)]

    def _message(self, width: int, height: int, symbols: Symbols) -> list[Line]:
        return [crop([(self._word, "plain")], width, symbols)]

    def _update_charts(self) -> None:
        """Update the current chart even while nothing can be drawn, because keys act on it.

        A sweep with a single axis has no heatmap.
        """
        ended = self._feed.session.ended
        for case in (*ended[self._judged :], *self._judge.with_new_rounds()):
            self._judge.add_ended(case)
        self._judged = len(ended)
        if self._view == "map" or (self._automatic and self._view == "lines"):
            self._map.update()
            self._home = self._view = "map" if self._map.available else "lines"
        if self._view == "front":
            self._front.update(self._lines.choice.filter_text, self._lines.choice.logarithmic)
        elif self._view == "lines":
            self._lines.update()

    def _show_plot(self, plot: Plot | Heatmap) -> None:
        """Show the plot. Next to a heatmap, the list gets the width that it needs, if that is left."""
        lists = self.query_one("#side")
        if isinstance(plot, Plot):
            self._fit_lists(lists)
            self._panel("plot").show(plot)
            return
        free = self.size.width - full_width(plot) - 2 * FRAME
        self.set_class(free < MIN_LIST, "-alone")
        wanted = min(natural_width(self._shown.lines()), MAX_LIST)
        lists.styles.width = max(min(free, wanted), MIN_LIST) + FRAME
        self._panel("map").show(plot)

    def _fit_lists(self, lists: Widget) -> None:
        """Give the lists next to a plot the width that they need, and those below it as many lines as rows."""
        listings = (self._shown.lines(), *((self._lines.points(),) if self._view == "lines" else ()))
        if self.has_class("-narrow"):
            rows = max(len(listing.rows) for listing in listings)
            lists.styles.clear_rule("width")
            lists.styles.height = min(max(rows + 1, 3), MAX_LIST_HEIGHT) + lists.gutter.height
        else:
            lists.styles.clear_rule("height")
            lists.styles.width = min(max(map(natural_width, listings)) + FRAME, self.size.width * 3 // 5)

    @property
    def _shown(self) -> Shown:
        charts: dict[View, Shown] = {"map": self._map, "lines": self._lines, "front": self._front}
        return charts[self._view]

    def _keys(self) -> Keys:
        other = {"map": "axes", "lines": "axis", "front": "cost"}[self._view]
        view = "heatmap" if self._home == "lines" else "lines"
        first = (("f", "metric"), ("v", other))
        views = (("tab", view),) if self._map.available else ()
        back = ("p", "back" if self._view == "front" else "Pareto")
        return (*(*first, *views, back, ("enter", "detail"), ("/", "filter"))[:5], ("?", "help"), ("q", "quit"))

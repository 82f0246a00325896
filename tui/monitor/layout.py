"""Monitor layout: what its panels show, and which of them fills the screen."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen
from textual.widget import Widget

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.model.session_view import View
from benchtui.tui.model.table_order import TableOrder
from benchtui.tui.panels.case_panel import Current, Part, current_lines, part_lines
from benchtui.tui.panels.case_table import CaseTable
from benchtui.tui.panels.gauges import Machines, gauge_lines
from benchtui.tui.panels.header import Heading, heading_lines
from benchtui.tui.panels.histogram import Histogram, histogram_lines
from benchtui.tui.panels.step_band import Band, band_lines
from benchtui.tui.panels.zoom import NAMES, Name, Zoomed, hint, zoom_lines
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.layout import Arrangement
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.message_line import Log, log_lines
from benchtui.tui.widgets.panel import Panel, small_lines

Steps = Band | Histogram


def panels(symbols: Symbols) -> dict[str, Widget]:
    """Create every panel of the Monitor, by ID."""
    made: list[Widget] = [
        Panel[str](small_lines, symbols, id="small"),
        Panel[Heading](heading_lines, symbols, id="heading"),
        Panel[Current](current_lines, symbols, id="current"),
        Panel[Steps](_step_lines, symbols, id="band"),
        Panel[tuple[Part, ...]](part_lines, symbols, id="parts"),
        Panel[Machines](_gauges, symbols, id="gauges"),
        Panel[Zoomed](zoom_lines, symbols, id="zoom"),
        Panel[Arrangement](_header, symbols, id="header"),
        CaseTable(symbols, id="table"),
        Panel[Log](log_lines, symbols, id="log"),
        KeyBar(symbols),
    ]
    return {panel.id or "": panel for panel in made}


class MonitorLayout:
    """Fills the visible panels, and tracks which one is zoomed."""

    def __init__(self) -> None:
        self.zoomed: Name | None = None
        """Panel that fills the screen; None for the normal layout."""
        self.last: Name | None = None
        """Panel that was zoomed last."""
        self.histogram = False
        """Whether steps are shown as a histogram instead of a band."""
        self._back = 0

    def change(self, screen: Screen[Any], what: str, first: Name) -> None:
        """Toggle ``zoom``, go to the ``next`` or ``previous`` panel, or toggle the ``histogram``.

        If none is zoomed, zoom the last one, or ``first`` the first time.
        """
        if what == "histogram":
            self.histogram = not self.histogram
        elif self.zoomed is None:
            self.zoom(screen, self.last or first)
        elif what == "zoom":
            self.zoom(screen, None)
        else:
            step = 1 if what == "next" else -1
            self.zoom(screen, NAMES[(NAMES.index(self.zoomed) + step) % len(NAMES)])

    def zoom(self, screen: Screen[Any], name: Name | None) -> None:
        """Zoom a panel; None restores the normal layout."""
        self.zoomed, self._back = name, 0
        self.last = name or self.last
        screen.set_class(name is not None and name != "table", "-zoomed")
        screen.set_class(name == "table", "-tabled")

    def scroll(self, lines: int) -> None:
        """Scroll a long text back by lines; negative values scroll forward."""
        self._back = max(0, self._back + lines)

    def draw(self, screen: Screen[Any], view: View, table_order: TableOrder, notes: tuple[str, ...]) -> None:
        """Show a session in the visible panels."""
        chosen = table_order.chosen

        def show(name: str, snapshot: object) -> None:
            screen.query_one(f"#{name}", Panel).show(snapshot)

        show("heading", view.heading(notes))
        if self.zoomed is not None and self.zoomed != "table":
            self._back = min(self._back, max(0, len(view.messages()) - 1))
            show("zoom", self._zoomed(self.zoomed, view, chosen))
            return
        if self.zoomed is None:
            show("current", view.current(chosen))
            show("band", view.histogram(chosen) if self.histogram else view.band(chosen))
            show("parts", view.parts(chosen))
            show("gauges", view.machines(chosen))
        table = screen.query_one(CaseTable)
        table.show(view.rows(table_order))
        show("header", table.arrangement())

    def _zoomed(self, name: Name, view: View, chosen: int | None) -> Zoomed:
        snapshots: dict[Name, Callable[[int | None], object]] = {
            "band": view.band,
            "histogram": view.histogram,
            "parts": view.parts,
            "gauges": view.machines,
            "log": lambda chosen: view.messages(),
        }
        about = None if name in ("gauges", "log") else view.current(chosen)
        return Zoomed(name, snapshots[name](chosen), about, self._back)


def _step_lines(steps: Steps, width: int, height: int, symbols: Symbols) -> list[Line]:
    shape: Name = "histogram" if isinstance(steps, Histogram) else "band"
    if steps.scale is None:
        return [line((hint(shape), "muted"))]
    if isinstance(steps, Histogram):
        return histogram_lines(steps, width, height, symbols)
    return band_lines(steps, width, height, symbols)


def _gauges(machines: Machines, width: int, height: int, symbols: Symbols) -> list[Line]:
    return gauge_lines(machines, width, height, symbols, f": {key('monitor.zoom')}")


def _header(arrangement: Arrangement, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [arrangement.header(width, symbols)]

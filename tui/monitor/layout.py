"""Monitor layout: what its panels show, their heights, and which of them fills the screen."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from textual import events
from textual.screen import Screen
from textual.widget import Widget

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import significant
from benchtui.tui.drawing.heat_grid import heatmap_lines
from benchtui.tui.drawing.styled_text import Line, Span, crop, line
from benchtui.tui.model.session_view import View
from benchtui.tui.model.table_order import TableOrder
from benchtui.tui.panels.answer_card import Answer, answer_height, answer_lines, answer_title
from benchtui.tui.panels.case_panel import Current, Part, current_lines, current_title, part_lines
from benchtui.tui.panels.case_table import CaseTable
from benchtui.tui.panels.compact import Compact, compact_lines
from benchtui.tui.panels.gauges import Machines, gauge_height, gauge_lines, machine_title
from benchtui.tui.panels.header import SweepHeading, heading_lines
from benchtui.tui.panels.step_band import Band, band_lines
from benchtui.tui.panels.zoom import NAMES, Name, Zoomed, hint, zoom_lines, zoom_title
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.layout import Arrangement, table_subtitle, table_title
from benchtui.tui.widgets.breakpoints import HIGH, USUAL_HEIGHT
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.message_line import log_lines
from benchtui.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from benchtui.tui.monitor.end_map import EndMap

FRAMES: dict[Name, str] = {"band": "case", "parts": "step", "table": "cases", "gauges": "machine"}
"""Frame of each panel, by ID."""


def panels(symbols: Symbols) -> dict[str, Widget]:
    """Create every panel of the Monitor, by ID."""
    made: list[Widget] = [
        Panel(compact_lines, symbols, id="small"),
        Panel(heading_lines, symbols, id="heading"),
        Panel(answer_lines, symbols, id="answer"),
        Panel(current_lines, symbols, id="current"),
        Panel(heatmap_lines, symbols, id="map"),
        Panel(_step_lines, symbols, id="band"),
        Panel(_parts, symbols, id="parts"),
        Panel(_gauges, symbols, id="gauges"),
        Panel(zoom_lines, symbols, id="zoom"),
        Panel(_header, symbols, id="header"),
        CaseTable(symbols, id="table"),
        Panel(log_lines, symbols, id="log"),
        KeyBar(symbols),
    ]
    return {panel.id or "": panel for panel in made}


class MonitorLayout:
    """Fills the visible panels, and tracks which one is focused and which one is zoomed."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self.zoomed: Name | None = None
        """Panel that fills the screen; None for the normal layout."""
        self.focused: Name | None = None
        """Panel with the highlighted frame, which zooming enlarges. None until one is chosen."""
        self._back = 0
        self._sizes: Sizes | None = None
        self._map: tuple[object, EndMap | None] = (None, None)
        """Conclusions of the end, and the heatmap made of them."""
        self._sized_for: object = None
        """Machines, sizes and number of cases for which the heights were computed."""

    def change(self, screen: Screen[Any], what: str, first: Name) -> None:
        """Toggle ``zoom``, or go to the ``next`` or ``previous`` panel.

        If no panel has been focused, zoom ``first``.
        """
        if what == "zoom":
            self.zoom(screen, (self.focused or first) if self.zoomed is None else None)
        elif self.zoomed is not None:
            self.zoom(screen, _neighbor(NAMES, self.zoomed, what))
        else:
            shown = tuple(name for name, frame in FRAMES.items() if screen.query_one(f"#{frame}").size)
            self._focus(screen, _neighbor(shown, self.focused, what) if self.focused else first)

    def zoom(self, screen: Screen[Any], name: Name | None) -> None:
        """Zoom a panel; None restores the normal layout."""
        self.zoomed, self._back = name, 0
        if name is not None:
            self._focus(screen, name)
        screen.set_class(name is not None and name != "table", "-zoomed")
        screen.set_class(name == "table", "-tabled")

    def _focus(self, screen: Screen[Any], name: Name) -> None:
        self.focused = name
        for panel, frame in FRAMES.items():
            screen.query_one(f"#{frame}", Frame).highlight(panel == name)

    def click(self, event: events.Click, table_order: TableOrder) -> bool:
        """Select the clicked row, or sort by the clicked column. Return whether either was clicked."""
        widget = event.widget
        if widget is None or (at := event.get_content_offset(widget)) is None:
            return False
        if isinstance(widget, CaseTable) and (row := widget.row_at(at.y)) is not None:
            table_order.select(row)
            return True
        if widget.id == "header":
            table = widget.screen.query_one(CaseTable)
            table_order.sort_by(table.arrangement().key_at(at.x))
        return widget.id == "header"

    def scroll(self, lines: int) -> None:
        """Scroll a long text back by lines; negative values scroll forward."""
        self._back = max(0, self._back + lines)

    def draw(self, screen: Screen[Any], view: View, heading: SweepHeading, word: str) -> None:
        """Show a session in the visible panels. ``word`` is the question or message of the screen."""

        def show(name: str, snapshot: object) -> None:
            screen.query_one(f"#{name}", Panel).show(snapshot)

        def title(name: str, left: Sequence[Span], right: Sequence[Span] = ()) -> None:
            screen.query_one(f"#{name}", Frame).show_title(left, right)

        if screen.query_one("#small", Panel).display:
            pictures = view.current(), view.machines(), view.band(), view.answer()
            show("small", Compact(heading, *pictures, word))
            return
        show("heading", heading)
        if self.zoomed is not None and self.zoomed != "table":
            self._back = min(self._back, max(0, len(view.messages()) - 1))
            zoomed = self._zoomed(self.zoomed, view)
            title("zoomed", *zoom_title(zoomed))
            show("zoom", zoomed)
            return
        if self.zoomed is None:
            current, machines, answer = view.current(), view.machines(), view.answer()
            over, card = view.over, view.over and view.order.chosen is None
            screen.set_class(over, "-over")
            screen.set_class(card, "-card")
            screen.set_class(card and not answer.works and bool(answer.notes) and view.concluded, "-nothing")
            answer_rows = self._resize(screen, machines, view, answer, card)
            title("verdict", *answer_title(answer, answer_rows))
            show("answer", answer)
            title("machine", *machine_title(machines))
            title("case", *current_title(current))
            self._show_map(screen, view, card)
            alone = screen.has_class("-mapped") and not screen.has_class("-wide")
            title("step", *_step_title(current, answer, self._symbols, alone=alone))
            show("current", current)
            show("band", view.band())
            show("parts", view.parts())
            show("gauges", machines)
        view.order.show_end(view.over, view.starred)
        table, rows = screen.query_one(CaseTable), view.rows()
        table.show_rows(rows)
        arrangement = table.arrangement()
        title("cases", table_title(rows, arrangement), table_subtitle(arrangement, self._symbols))
        show("header", arrangement)

    def _show_map(self, screen: Screen[Any], view: View, card: bool) -> None:
        """Show the heatmap next to a ``card``, the whole answer of a session that is over."""
        conclusions = view.conclusions() if card else None
        if conclusions is not None and self._map[0] is not conclusions:
            from benchtui.tui.monitor.end_map import end_map  # lazy import: not needed before the end

            self._map = conclusions, end_map(view, conclusions, self._symbols)
        shown = self._map[1] if conclusions else None
        screen.set_class(shown is not None, "-mapped")
        if shown is not None:
            screen.query_one("#heat", Frame).show_title([(shown[0], "muted")])
            screen.query_one("#map", Panel).show(shown[1])

    def _resize(self, screen: Screen[Any], machines: Machines, view: View, answer: Answer, card: bool) -> int:
        """Give the panels their heights, if they changed. Return the lines of the answer.

        While a case is selected, the answer of a session that is over is as short as that of a running one.
        """
        transport = screen.query_one("#transport").outer_size.height if view.replayed else 0
        inside = screen.query_one("#gauges").size.width or screen.size.width - 4
        seen = (machines, screen.size, inside, transport, len(view.session.cases), answer, card)
        if seen == self._sized_for and self._sizes is not None:
            return self._sizes.lines
        self._sized_for = seen
        wanted = None if view.over else gauge_height(machines, inside)
        shown = answer_height(answer, inside, screen.size.height, whole=card)
        lines = shown if answer.works or view.over else None
        new_sizes = sizes(screen.size.height, 3 + transport, wanted, len(view.session.cases), lines, card)
        if new_sizes != self._sizes:
            self._sizes = new_sizes
            for name in ("verdict", "machine", "top", "log"):
                screen.query_one(f"#{name}").styles.height = getattr(new_sizes, name)
            verdict = screen.query_one("#verdict")
            verdict.set_class(not new_sizes.verdict, "-none")
            verdict.set_class(not new_sizes.lines, "-line")
        return new_sizes.lines

    def _zoomed(self, name: Name, view: View) -> Zoomed:
        snapshots: dict[Name, Callable[[], object]] = {
            "band": view.band,
            "parts": view.parts,
            "gauges": view.machines,
            "log": view.messages,
        }
        about = None if name in ("gauges", "log") else view.current()
        return Zoomed(name, snapshots[name](), about, self._back)


def _neighbor(names: Sequence[Name], name: Name, what: str) -> Name:
    """Return the ``next`` or ``previous`` of names, cyclically."""
    step = 1 if what == "next" else -1
    return names[(names.index(name) + step) % len(names)] if name in names else names[0]


def _step_title(
    current: Current, answer: Answer, symbols: Symbols, *, alone: bool
) -> tuple[list[Span], list[Span]]:
    """Return both ends of the title above the parts: of which step, if no plot next to them says so."""
    ms = current.metrics.step_ms if current.metrics and alone else None
    if ms is None:
        return [("step", "muted")], []
    return [("step of ", "muted"), (answer.works[0].name, "strong")], [
        (f"{significant(ms, symbols)} ms", "plain")
    ]


def _step_lines(band: Band, width: int, height: int, symbols: Symbols) -> list[Line]:
    drawn = band_lines(band, width, height, symbols)
    return drawn or ([line((hint("band"), "muted"))] if band.axis is None else [])


def _parts(parts: tuple[Part, ...], width: int, height: int, symbols: Symbols) -> list[Line]:
    return (
        part_lines(parts, width, height, symbols)
        if parts
        else [crop([(hint("parts"), "muted")], width, symbols)]
    )


def _gauges(machines: Machines, width: int, height: int, symbols: Symbols) -> list[Line]:
    return gauge_lines(machines, width, height, symbols, f": {key('monitor.zoom')}")


def _header(arrangement: Arrangement, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [arrangement.header(width, symbols)]


CASE_ROWS = {False: 8, True: 11}
"""Preferred number of rows inside the case panel, on a short screen and on others."""
MIN_CASE_ROWS, CARD_CASE_ROWS = 5, 7
MIN_TABLE_ROWS = 4
"""Minimum number of rows inside the table: the header and three cases."""


class Sizes(msgspec.Struct, frozen=True):
    """Heights in rows, frames included."""

    verdict: int
    """What the session says."""
    lines: int
    """Rows inside it."""
    machine: int
    """0 if the gauges aren't shown."""
    top: int
    """Case panel, and the step breakdown next to it."""
    log: int


def sizes(
    height: int, reserved: int, gauges: int | None, cases: int, answer: int | None = None, card: bool = False
) -> Sizes:
    """Return the heights of the panels; the table takes the rest.

    ``reserved`` rows are for the header, the key bar and the transport line, ``gauges`` is the number of rows
    that all machines take, None if the session is over. ``cases`` is the number of cases, ``answer`` the lines
    of what the session says: 0 for its title alone, None for nothing yet. What the table doesn't need goes to
    the case, which gives way to a ``card``, the whole answer.
    """
    frame = 2 if height >= USUAL_HEIGHT else 1
    log = 1 if height < USUAL_HEIGHT else 2 if height < HIGH else 4
    verdict = 0 if answer is None else answer + frame if answer else 1
    room = height - reserved - log - verdict - (2 if gauges is None else 3) * frame
    machine = 0 if gauges is None else max(1, min(gauges, room - MIN_CASE_ROWS - MIN_TABLE_ROWS))
    room -= machine
    case = CASE_ROWS[height >= USUAL_HEIGHT] + max(0, height - HIGH) // 3 if not card else CARD_CASE_ROWS
    case = max(min(case, room - MIN_TABLE_ROWS), MIN_CASE_ROWS, room - cases - 1)
    return Sizes(verdict, answer or 0, machine + frame if machine else 0, case + frame, log)

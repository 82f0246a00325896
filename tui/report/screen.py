"""Page "Report": the report of a session, as ``benchtui export`` shows it on a terminal."""

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType

from benchtui.sessions.errors import BenchtuiError
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.pages.view_screen import ViewScreen
from benchtui.tui.report.blocks import Block, Text, read_blocks
from benchtui.tui.report.lines import RenderedReport, report_lines
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.panel import Panel, given_lines

GENERATING = "generating the report"


class ReportScreen(ViewScreen):
    """Scrollable report, generated when the page opens."""

    DEFAULT_CSS = """
    ReportScreen #section { height: 1fr; }
    ReportScreen #page { height: 1fr; }
    ReportScreen #keys { height: 1; }
    """
    HELP = "report"
    BINDINGS: ClassVar[list[BindingType]] = keymap.table(
        "report",
        ("n", "next", "section(1)", "Next section"),
        ("N", "previous", "section(-1)", "Previous section"),
        ("down,j", "down", "move(1)", "Down"),
        ("up,k", "up", "move(-1)", "Up"),
        ("pagedown", "page_down", "page(1)", "One page down"),
        ("pageup", "page_up", "page(-1)", "One page up"),
        ("home,g", "first", "move(-1000000)", "First line"),
        ("end,G", "last", "move(1000000)", "Last line"),
        ("E", "export", "export", "Export the report", "to a markdown file"),
        ("question_mark,f1", "help", "help", "Help"),
        ("escape,q,enter,v", "back", "leave", "Back"),
    )

    def __init__(self, make: Callable[[], str], export: Callable[[], None], symbols: Symbols) -> None:
        """Show what ``make`` returns; it runs in a thread. ``export`` asks for a file on the screen below."""
        super().__init__(symbols)
        self._make = make
        self._export = export
        self._blocks: tuple[Block, ...] = (Text(((GENERATING, "muted"),)),)
        self._top = 0
        self._rendered = lru_cache(maxsize=1)(self._render_blocks)

    def content(self) -> ComposeResult:
        """Lay out the report."""
        page = Panel[Sequence[Line]](given_lines, self._symbols, id="page")
        yield Frame(page, symbols=self._symbols, id="section")

    def on_mount(self) -> None:
        """Generate the report, and draw. Textual calls the base's handler as well."""
        self._generate()
        self.call_after_refresh(self.draw)

    def action_leave(self) -> None:
        """Return to the screen below."""
        self.dismiss()

    def action_export(self) -> None:
        """Return to the screen below, which asks for a file."""
        self.dismiss()
        self._export()

    def action_move(self, lines: int) -> None:
        """Scroll by lines."""
        self._top += lines
        self.draw()

    def action_page(self, pages: int) -> None:
        """Scroll by pages, which overlap by a line."""
        self.action_move(pages * max(1, self._panel("page").size.height - 1))

    def action_section(self, direction: int) -> None:
        """Scroll to the next or previous section."""
        starts = [0, *self._rendered(self._panel("page").size.width).sections]
        ahead = [start - self._top for start in starts if (start - self._top) * direction > 0]
        self.action_move(min(ahead, key=abs, default=0))

    def draw(self) -> None:
        """Redraw what changed."""
        if not self.is_current:
            return
        page = self._panel("page")
        width, height = page.size
        lines = self._rendered(width).lines
        self._top = max(0, min(self._top, len(lines) - height))
        place = f"{self._top + 1} to {min(self._top + height, len(lines))} of {len(lines)} lines"
        with self.app.batch_update():
            cut = len(lines) > height
            self.query_one(Frame).show_title([("report", "muted")], [(place, "muted")] if cut else [])
            page.show(lines[self._top : self._top + height])
            keys = (("esc", "back"), ("?", "help"), ("n N", "section"), ("E", "export"))
            self._panel("keys").show((*keys, (self._symbols.arrows, "scroll")))

    @work(exclusive=True)
    async def _generate(self) -> None:
        try:
            blocks = read_blocks(await asyncio.to_thread(self._make))
        except BenchtuiError as error:
            blocks = (Text(((clean(str(error)), "bad"),)),)
        self._blocks = blocks
        self._rendered.cache_clear()
        self.draw()

    def _render_blocks(self, width: int) -> RenderedReport:
        rendered = report_lines(self._blocks, width, self._symbols)
        cleaned = [line(*((clean(text), role) for text, role in drawn)) for drawn in rendered.lines]
        return RenderedReport(cleaned, rendered.sections)

"""Page "Report": the report of a session, as ``benchtui export`` shows it on a terminal."""

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar

from textual import work
from textual.binding import BindingType

from benchtui.sessions.errors import BenchtuiError
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.pages.page import TextScreen
from benchtui.tui.report.blocks import Block, Text, read_blocks
from benchtui.tui.report.lines import RenderedReport, report_lines
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.keys import Keys

GENERATING = "generating the report"


class ReportScreen(TextScreen):
    """Scrollable report, generated when the page opens."""

    NAME = "report"
    HELP = "report"
    BINDINGS: ClassVar[list[BindingType]] = keymap.table(
        "report",
        ("n", "next", "section(1)", "Next section"),
        ("N", "previous", "section(-1)", "Previous section"),
        *keymap.scrolling(),
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
        self._rendered = lru_cache(maxsize=1)(self._render_blocks)

    def on_mount(self) -> None:
        """Generate the report. Textual calls the base's handler as well."""
        self._generate()

    def action_export(self) -> None:
        """Return to the screen below, which asks for a file."""
        self.dismiss()
        self._export()

    def action_section(self, direction: int) -> None:
        """Scroll to the next or previous section."""
        starts = [0, *self._rendered(self._panel("page").size.width).sections]
        ahead = [start - self._top for start in starts if (start - self._top) * direction > 0]
        self.action_move(min(ahead, key=abs, default=0))

    def text(self, width: int) -> Sequence[Line]:
        """Return the lines of the report."""
        return self._rendered(width).lines

    @work(exclusive=True)
    async def _generate(self) -> None:
        try:
            blocks = read_blocks(await asyncio.to_thread(self._make))
        except BenchtuiError as error:
            blocks = (Text(((clean(str(error)), "bad"),)),)
        self._blocks = blocks
        self._rendered.cache_clear()
        self.draw()

    def _keys(self) -> Keys:
        return (("n N", "section"), ("E", "export"))

    def _render_blocks(self, width: int) -> RenderedReport:
        rendered = report_lines(self._blocks, width, self._symbols)
        cleaned = [line(*((clean(text), role) for text, role in drawn)) for drawn in rendered.lines]
        return RenderedReport(cleaned, rendered.sections)

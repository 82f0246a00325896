"""Page "Report": the report of a session, as ``benchtui export`` shows it on a terminal."""

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache

from textual import work

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.report.content import Section
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, Span, line, wrap_spans
from benchtui.tui.pages.page import TextScreen
from benchtui.tui.report.lines import RenderedReport, report_lines
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.keys import Keys

GENERATING = "generating the report"


class ReportScreen(TextScreen):
    """Scrollable report, generated when the page opens."""

    NAME = "report"
    HELP = "report"
    BINDINGS = keymap.table(
        "report",
        ("n", "next", "Next section", "", "section(1)"),
        ("N", "previous", "Previous section", "", "section(-1)"),
        *keymap.scrolling(),
        ("E", "export", "Export the report", "to a markdown file"),
        ("question_mark,f1", "help", "Help"),
        ("escape,q,enter,v", "back", "Back", "", "leave"),
    )

    def __init__(self, make: Callable[[], Section], export: Callable[[], None], symbols: Symbols) -> None:
        """Show what ``make`` returns; it runs in a thread. ``export`` asks for a file on the screen below."""
        super().__init__(symbols)
        self._make = make
        self._export = export
        self._report: Section | None = None
        self._note: Span = (GENERATING, "muted")
        """What is shown without a report."""
        self._rendered = lru_cache(maxsize=1)(self._render_report)

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
            self._report = await asyncio.to_thread(self._make)
        except BenchtuiError as error:
            self._note = (str(error), "bad")
        self._rendered.cache_clear()
        self.draw()

    def _keys(self) -> Keys:
        return (("n N", "section"), ("E", "export"))

    def _render_report(self, width: int) -> RenderedReport:
        if self._report is None:
            return RenderedReport(wrap_spans([(clean(self._note[0]), self._note[1])], width), [])
        rendered = report_lines(self._report, width, self._symbols)
        cleaned = [line(*((clean(text), role) for text, role in drawn)) for drawn in rendered.lines]
        return RenderedReport(cleaned, rendered.sections)

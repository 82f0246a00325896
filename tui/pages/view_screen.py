"""Base of the views beside the Monitor: bars around their content, and the page that explains them."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, line, wrap_line
from benchtui.tui.shell.navigation import Place
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.nav_bar import place_lines
from benchtui.tui.widgets.panel import Panel, PanelScreen


class ViewScreen(PanelScreen[Any]):
    """Screen with content between the navigation bar and the key bar; in a tiny terminal, its main lines."""

    PLACE: Place | None = None
    """Where the navigation bar says the user is; without it, there is no such bar."""
    HELP: ClassVar[str] = ""
    """Name of the sections that the help page shows after the keys."""

    def __init__(self, symbols: Symbols) -> None:
        super().__init__()
        self._symbols = symbols

    def compose(self) -> ComposeResult:
        """Lay out the bars, with the content between them."""
        yield Panel(self._small, self._symbols, id="small")
        with Vertical(classes="body"):
            if self.PLACE:
                yield Panel(place_lines, self._symbols, id="places")
            yield from self.content()
            yield KeyBar(self._symbols)

    def content(self) -> Iterable[Widget]:
        """Yield the widgets between the bars."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Set up the navigation bar."""
        self._show_brief()
        if self.PLACE:
            self._panel("places").show(self.PLACE)

    def on_resize(self, event: events.Resize) -> None:
        """Redraw once the panels have their new sizes."""
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Redraw what changed, if the view is visible."""
        raise NotImplementedError

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return what the view says in a terminal that is too small for it, most important first."""
        raise NotImplementedError

    def _show_brief(self) -> None:
        self._panel("small").show()

    def _small(self, width: int, height: int, symbols: Symbols) -> list[Line]:
        """Render the most important lines, and below them the size from which all of the view is shown."""
        brief = self.brief(width, height - 1) if height else ()
        lines = [part for drawn in brief for part in wrap_line(drawn, width)]
        return [*lines[: height - 1], line(("60 by 20 shows all", "muted"))]

    def action_help(self) -> None:
        """Open the help page."""
        from benchtui.tui.pages.help import open_help  # lazy import: not needed for the first paint
        from benchtui.tui.pages.view_help import SECTIONS

        open_help(self, self._symbols, SECTIONS[self.HELP])

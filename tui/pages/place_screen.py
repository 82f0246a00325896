"""Base of the views that list sessions or their cases: the Library and the comparison."""

from collections.abc import Iterable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from benchtui.themes.symbols import Symbols
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import Place
from benchtui.tui.widgets.action_bar import ActionBar
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.long_list import LongList
from benchtui.tui.widgets.nav_bar import place_lines
from benchtui.tui.widgets.panel import Panel, PanelScreen, small_lines


class PlaceScreen(PanelScreen[None]):
    """View with navigation bar, action bar and key bar. Files are read in threads while it exists."""

    PLACE: ClassVar[Place]

    def __init__(self, app_context: AppContext, symbols: Symbols) -> None:
        super().__init__()
        self._app_context = app_context
        self._symbols = symbols
        self._abandoned = False
        """Whether threads that are still reading files should stop."""

    def compose(self) -> ComposeResult:
        """Lay out the bars, with the content between them."""
        yield Panel[str](small_lines, self._symbols, id="small")
        with Vertical(classes="body"):
            yield Panel[Place](place_lines, self._symbols, id="places")
            yield from self.content()
            yield ActionBar(self._symbols, id="actions")
            yield KeyBar(self._symbols)

    def content(self) -> Iterable[Widget]:
        """Yield the widgets between the bars."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Set up the navigation bar."""
        self._panel("small").show("")
        self._panel("places").show(self.PLACE)

    def on_unmount(self) -> None:
        """Stop reading session files."""
        self._abandoned = True

    def on_resize(self, event: events.Resize) -> None:
        """Redraw once the panels have their new sizes."""
        self.call_after_refresh(self._draw)

    async def on_click(self, event: events.Click) -> None:
        """Select the clicked row; a double click opens it."""
        listing = self.query_one(LongList)
        at = event.get_content_offset(listing) if event.widget is listing else None
        if at is not None and (row := listing.row_at(at.y)) is not None:
            self._select_row(row)
            if event.chain == 2:
                await self.run_action("open")

    def _select_row(self, row: int) -> None:
        """Select a row of the list."""
        raise NotImplementedError

    @on(ActionBar.Changed)
    def asked(self) -> None:
        """Update the key bar."""
        self._draw()

    def _draw(self) -> None:
        """Redraw what changed, if the view is visible."""
        if not self.is_current:
            return
        with self.app.batch_update():
            self._draw_content()
            self._panel("keys").show(self._action_bar.keys or self._keys())

    def _draw_content(self) -> None:
        """Redraw the content."""
        raise NotImplementedError

    def _keys(self) -> Keys:
        """Return the keys available while no question or input field is open."""
        raise NotImplementedError

    @property
    def _action_bar(self) -> ActionBar:
        return self.query_one(ActionBar)

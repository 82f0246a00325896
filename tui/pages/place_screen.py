"""Base of the views that list sessions or their cases: the Library and the comparison."""

from textual import events, on

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.view_screen import ViewScreen
from benchtui.tui.shell.context import AppContext
from benchtui.tui.widgets.action_bar import ActionBar
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.long_list import LongList


class PlaceScreen(ViewScreen):
    """View with a list and an action bar. Files are read in threads while it exists."""

    def __init__(self, app_context: AppContext, symbols: Symbols) -> None:
        super().__init__(symbols)
        self._app_context = app_context
        self._abandoned = False
        """Whether threads that are still reading files should stop."""

    def on_unmount(self) -> None:
        """Stop reading session files."""
        self._abandoned = True

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
        self.draw()

    def draw(self) -> None:
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

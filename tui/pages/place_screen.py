"""Base of the views with a list: Home, the Library and the comparison."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic

from textual import events, on

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, wrap_line
from benchtui.tui.pages.view_screen import ViewScreen
from benchtui.tui.shell.context import AppContext
from benchtui.tui.table.selection import Item, Selection
from benchtui.tui.widgets.action_bar import ActionBar
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.long_list import SCROLL_BAR, Lines, LongList

DrawRow = Callable[[Item, int, str], Line]
"""Renders an item for a width in cells, with a mark in front."""


class PlaceScreen(ViewScreen, Generic[Item]):
    """View with a list and an action bar. Files are read in threads while it exists."""

    def __init__(self, app_context: AppContext, symbols: Symbols, selection: Selection[Item]) -> None:
        super().__init__(symbols)
        self._app_context = app_context
        self._selection = selection
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
            self._selection.select_row(row)
            self._show_chosen()
            if event.chain == 2:
                await self.run_action("open")

    def action_move(self, rows: int) -> None:
        """Move the selection by rows."""
        self._selection.move(rows)
        self._show_chosen()

    def action_follow(self, rows: int) -> None:
        """Move the selection by rows, wrapping around at the ends."""
        self._selection.move(rows, wrap=True)
        self._show_chosen()

    @on(ActionBar.Typed)
    def typed(self, event: ActionBar.Typed) -> None:
        """Filter while typing."""
        if event.purpose == "filter":
            self._selection.filter(event.text)
            self.draw()

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

    def _show_chosen(self) -> None:
        """Clear the message after the selection has changed, and redraw."""
        self._show_message()

    def _show_message(self, text: str = "", role: str = "warning") -> None:
        self._action_bar.show_message(text, role)

    def _show_rows(self, draw: DrawRow[Item], placeholder: Callable[[], Sequence[Line]]) -> None:
        """Show the list, or a placeholder if it is empty."""
        rows, at, sign = self._selection.rows, self._selection.at, self._symbols.chosen

        def row(index: int, width: int) -> Line:
            return draw(rows[index], width, sign if index == at else " ")

        room = self.query_one(LongList).size.width - SCROLL_BAR
        lines = () if rows else placeholder()
        if room > 0:  # else drawn again once the list has its size
            lines = [part for drawn in lines for part in wrap_line(drawn, room)]
        shown = Lines(len(rows), row, at) if rows else Lines(len(lines), lambda index, width: lines[index], -1)
        self.query_one(LongList).show(shown)

    @abstractmethod
    def _draw_content(self) -> None:
        """Redraw the content."""

    @abstractmethod
    def _keys(self) -> Keys:
        """Return the keys available while no question or input field is open."""

    @property
    def _action_bar(self) -> ActionBar:
        return self.query_one(ActionBar)

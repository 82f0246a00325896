"""List of any length that renders only its visible lines."""

from collections.abc import Callable

import msgspec
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from benchtui.tui.drawing.styled_text import BLANK, Line, changes
from benchtui.tui.widgets import role_styles


class Lines(msgspec.Struct, frozen=True):
    """Content of a list."""

    count: int
    line: Callable[[int, int], Line]
    """Return the line at an index, from 0, for a width in cells."""
    chosen: int


SCROLL_BAR = 1
"""Cells reserved at the right, so that nothing moves when the scroll bar appears."""
NOTHING = Lines(0, lambda index, width: BLANK, 0)


class LongList(ScrollView):
    """List with a selected line kept in view. Only changed cells are redrawn."""

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines = NOTHING
        self._drawn: dict[int, tuple[Line, bool]] = {}
        """Line in each row of the view, and whether it was the selected one."""
        self._styles = role_styles.RoleStyles(self)

    def show(self, lines: Lines) -> None:
        """Show new content, scroll to its selected line, and redraw what changed."""
        self._lines = lines
        if self.virtual_size.height != lines.count:
            self.virtual_size = Size(0, lines.count)
        width, height = self._room
        if height:
            self._keep_in_view(height)
            for y in range(height):
                self._redraw(y, width)

    def row_at(self, y: int) -> int | None:
        """Return the index of the item at a line of the view; None if it can't be selected."""
        index = y + self.scroll_offset.y
        return index if index < self._lines.count and self._lines.chosen >= 0 else None

    def lines(self) -> list[str]:
        """Return the visible lines as text."""
        width, height = self._room
        drawn = (self._line(y, width) for y in range(height))
        return ["".join(text for text, _ in line).rstrip() for line, _ in drawn if line]

    @property
    def _room(self) -> Size:
        return self.scrollable_content_region.size

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size."""
        self._drawn.clear()
        if self._room.height:
            self._keep_in_view(self._room.height)
        self.refresh()

    def notify_style_update(self) -> None:
        """Drop the cached styles of the previous theme."""
        super().notify_style_update()
        self._styles.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render some lines."""
        return self._styles.rendered(crop)

    def render_line(self, y: int) -> Strip:
        """Render a line of the view."""
        width = self._room.width
        line, chosen = self._drawn[y] = self._line(y, width)
        return self._styles.strip(line, width, chosen)

    def _line(self, y: int, width: int) -> tuple[Line, bool]:
        index = y + self.scroll_offset.y
        if index >= self._lines.count:
            return BLANK, False
        return self._lines.line(index, max(0, self.size.width - SCROLL_BAR)), index == self._lines.chosen

    def _redraw(self, y: int, width: int) -> None:
        before, was_chosen = self._drawn.get(y, (BLANK, False))
        line, chosen = self._line(y, width)
        if chosen != was_chosen:
            self.refresh(Region(0, y, width, 1))
        elif spans := changes(before, line, width):
            self.refresh(*(Region(start, y, end - start, 1) for start, end in spans))
        self._drawn[y] = (line, chosen)

    def _keep_in_view(self, height: int) -> None:
        top, chosen = self.scroll_offset.y, self._lines.chosen
        wanted = max(0, min(max(top, chosen - height + 1), chosen))
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, immediate=True)

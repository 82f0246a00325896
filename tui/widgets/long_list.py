"""A list of any length, of which only the lines in view are made."""

from collections.abc import Callable
from dataclasses import dataclass

from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from benchtui.tui.drawing.styled_text import BLANK, Line, changes
from benchtui.tui.widgets import role_styles


@dataclass(frozen=True, slots=True)
class Lines:
    """What the list shows."""

    count: int
    line: Callable[[int, int], Line]
    """Makes a line of its number, counted from 0, and its width in cells."""
    chosen: int


SCROLL_BAR = 1
"""Cells at the right that no line uses, so that nothing moves when the list grows longer than its place."""
NOTHING = Lines(0, lambda index, width: BLANK, 0)


class LongList(ScrollView):
    """Lines below each other, one of them chosen and kept in view; draws the cells that differ."""

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines = NOTHING
        self._drawn: dict[int, tuple[Line, bool]] = {}
        """What stands in each line of the view, and whether it was the chosen one."""
        self._styles = role_styles.RoleStyles(self)

    def show(self, lines: Lines) -> None:
        """Take over a snapshot, keep its chosen line in view, and draw what differs."""
        self._lines = lines
        if self.virtual_size.height != lines.count:
            self.virtual_size = Size(0, lines.count)
        width, height = self._room
        if height:
            self._keep_in_view(height)
            for y in range(height):
                self._redraw(y, width)

    def lines(self) -> list[str]:
        """The lines in view, as text."""
        width, height = self._room
        drawn = (self._line(y, width) for y in range(height))
        return ["".join(text for text, _ in line).rstrip() for line, _ in drawn if line]

    @property
    def _room(self) -> Size:
        return self.scrollable_content_region.size

    def on_resize(self, event: events.Resize) -> None:
        """Draw anew for the new size."""
        self._drawn.clear()
        if self._room.height:
            self._keep_in_view(self._room.height)
        self.refresh()

    def notify_style_update(self) -> None:
        """Forget the colours of the theme before."""
        super().notify_style_update()
        self._styles.forget()

    def render_line(self, y: int) -> Strip:
        """The line that stands here in the view."""
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

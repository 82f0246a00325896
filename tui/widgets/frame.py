"""Framed container: a border with a title in role colors, one part of it right-aligned."""

from collections.abc import Sequence

from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Span, crop, width_of
from benchtui.tui.widgets.role_styles import RoleStyles

CORNERS = 6
"""Cells of the title's line that the title can't use: corners, one dash and one space on either side."""


class Frame(Vertical):
    """Container with a frame. On a short screen, the frame is only a line above, which holds the title."""

    DEFAULT_CSS = "Frame { width: 100%; }"
    can_focus = False

    def __init__(self, *children: Widget, symbols: Symbols, id: str) -> None:
        super().__init__(*children, id=id)
        self._symbols = symbols
        self._title: tuple[Sequence[Span], Sequence[Span]] = ((), ())
        self._drawn_for: object = None
        """Title, width and role for which the border was last rendered."""
        self._styles = RoleStyles(self)
        self.set_class(symbols.up.isascii(), "-ascii")

    def show_title(self, left: Sequence[Span], right: Sequence[Span] = ()) -> None:
        """Show a title. The left part is shortened if both don't fit."""
        self._title = (tuple(left), tuple(span for span in right if span[0]))
        self._render_title()

    def highlight(self, focused: bool) -> None:
        """Draw the frame in the accent color, or in the usual one."""
        self.set_class(focused, "-focused")
        self._render_title()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the title to the new width."""
        self._render_title()

    def notify_style_update(self) -> None:
        """Drop the colors of the previous theme."""
        super().notify_style_update()
        self._styles.clear()
        self._drawn_for = None

    def title_text(self) -> str:
        """Return the title as text."""
        parts = ("".join(text for text, _ in part) for part in self._title)
        return "  ".join(part for part in parts if part)

    def _render_title(self) -> None:
        width = self.outer_size.width
        border = "accent" if self.has_class("-focused") else "faint"
        state = (self._title, width, border)
        if state != self._drawn_for and width:
            self._drawn_for = state
            self.border_title = self._content(width, border)

    def _content(self, width: int, border: str) -> Content:
        left, right = self._title
        if not left and not right:
            return Content()
        padding = 0 if self.styles.border_left[0] else 1
        room = width - CORNERS
        head = crop(left, max(0, room - width_of(right) - 1), self._symbols)
        rest = room - width_of(head) - width_of(right)
        fill: list[Span] = [(f" {self._symbols.track * (rest - 2)} ", border)] if right and rest > 2 else []
        space: list[Span] = [(" " * padding, "plain")]
        pieces = (*space, *head, *(fill or [(" ", "plain")] * bool(right)), *right, *space)
        return Content.assemble(
            *((text, Style.from_rich_style(self._styles.style(role))) for text, role in pieces if text)
        )

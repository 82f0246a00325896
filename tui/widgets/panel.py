"""Panel widget: renders content as lines and redraws only the cells that changed."""

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, Generic, TypeAlias, TypeVarTuple

from textual import events
from textual.geometry import Region, Size
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, changes
from benchtui.tui.shell.output_diff import SpanCompositor
from benchtui.tui.widgets import role_styles

Content = TypeVarTuple("Content")


class Panel(Widget, Generic[*Content]):
    """Widget that renders its content with a plain function.

    With ``height: auto`` in its style, it is as high as ``needed`` says.
    """

    can_focus = False

    def __init__(
        self,
        draw: Callable[[*Content, int, int, Symbols], Sequence[Line]],
        symbols: Symbols,
        *,
        id: str | None = None,
        needed: Callable[[*Content, int, int], int] | None = None,
    ) -> None:
        """``draw`` gets the content, a width and a height in cells, and the symbols.

        ``needed`` returns how many lines content needs at a width in a terminal of a height.
        """
        super().__init__(id=id)
        self._draw = draw
        self._needed = needed
        self._symbols = symbols
        self.shown: tuple[*Content] | None = None
        """Arguments of ``draw`` that are shown; None before the first."""
        self._lines: list[Line] = []
        self._drawn_for: tuple[int, int] | None = None
        """Size for which the lines were rendered."""
        self._styles = role_styles.RoleStyles(self)

    def show(self, *content: *Content) -> None:
        """Show content, redrawing only the cells that differ from before. Without any, draw again."""
        if content and self.shown and all(map(is_, content, self.shown)):
            return
        self.shown = content
        width, height = self.size
        if self._needed and self._needed(*content, width, self.screen.size.height) != height:
            self.refresh(layout=True)
        if self._drawn_for != self.size:
            self._drawn_for = None  # drawn in full once the panel has its size, even if it had that size before
            return
        lines = self._drawn()
        new = [y for y, (before, drawn) in enumerate(zip(self._lines, lines, strict=True)) if before != drawn]
        regions = [
            Region(start, y, stop - start, 1)
            for y in new
            for start, stop in changes(self._lines[y], lines[y], width)
        ]
        self._lines = lines
        if regions:
            self.refresh(*regions)

    def lines(self) -> list[str]:
        """Return the panel's content as text."""
        return ["".join(text for text, _ in drawn).rstrip() for drawn in self._lines]

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size, unless ``render_line`` already has."""
        if self.shown is not None and self._drawn_for != self.size:
            self._draw_all()
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height that the content needs at this width."""
        if self._needed is None or self.shown is None:
            return super().get_content_height(container, viewport, width)
        return self._needed(*self.shown, width, viewport.height)

    def notify_style_update(self) -> None:
        """Drop the cached styles of the previous theme."""
        super().notify_style_update()
        self._styles.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render some lines."""
        return self._styles.rendered(crop)

    def render_line(self, y: int) -> Strip:
        """Render a line. If the size is new, redraw now; the resize event comes later."""
        if self._drawn_for != self.size:
            self._draw_all()
        return self._styles.strip(self._lines[y] if y < len(self._lines) else BLANK, self.size.width)

    def _draw_all(self) -> None:
        self._lines = self._drawn()
        self._drawn_for = self.size

    def _drawn(self) -> list[Line]:
        width, height = self.size
        drawn = () if self.shown is None else self._draw(*self.shown, width, height, self._symbols)
        lines = list(drawn)[:height]
        return lines + [BLANK] * (height - len(lines))


AnyPanel: TypeAlias = Panel[*tuple[Any, ...]]


class PanelScreen(Screen[ScreenResultType]):
    """Screen made of panels."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SpanCompositor()

    @property
    def is_current(self) -> bool:
        """Whether the screen is visible. While the app exits, its panels go first, so that it can't draw."""
        return self.app.is_running and super().is_current

    def _panel(self, name: str) -> AnyPanel:
        return self.query_one(f"#{name}", Panel)


def given_lines(lines: Sequence[Line], width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render what already consists of lines."""
    return lines

"""Terminal output diff: render and write only the cells that changed, and no line that is already shown.

For a small change, Textual renders every widget of the screen, and writes a line from the left edge of its
widget up to the change (a note in ``ChopsUpdate`` says that it should do better). It paints a new screen three
or four times. The replacement relies on private classes of Textual. Updates of any other form are passed
through unchanged.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.segment import Segment
from textual._compositor import Compositor, CompositorUpdate, LayoutUpdate
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from benchtui.tui.drawing.format import clean

Update = TypeVar("Update")
WHOLE = {"strips", "region"}
"""Attributes of a full-screen update, in the Textual versions tested."""
EMPTY = Strip([])
LARGE = 0.25
"""Share of the screen's cells from which an update is compared with what is shown."""
MOST_PARTS = 8
"""Writes tracked per line before its content is treated as unknown."""


class TerminalContent:
    """Content of the terminal, line by line, as far as it is known."""

    def __init__(self) -> None:
        self._lines: dict[int, list[tuple[int, Strip]]] = {}
        """Writes to each line with their column: the whole line first, then cells over it."""
        self._size: Size | None = None

    def resized(self, size: Size) -> None:
        """Set the terminal's size. A change may rewrap lines, so their content becomes unknown."""
        if size != self._size and self._size is not None:
            self.forget()
        self._size = size

    def without_unchanged(self, update: Update) -> "Update | NewLines":
        """Reduce an update to its changes. Updates of unknown types are returned as is."""
        if isinstance(update, ChangedCells):
            update.content = self
            return update
        if isinstance(update, LayoutUpdate) and vars(update).keys() == WHOLE:
            return NewLines(update, self)
        if update is not None:
            self.forget()
        return update

    def forget(self) -> None:
        """Discard the known content, so that everything is written again."""
        self._lines.clear()

    def write(self, parts: Sequence[tuple[int, int, Strip]], console: Console, *, whole_lines: bool) -> str:
        """Record that cells are written; return those not shown yet as text with escape sequences.

        Each part has its line and column. Few cells aren't compared: they have probably changed.
        """
        cells = sum(part.cell_length for *_, part in parts)
        compared = whole_lines or (self._size is not None and cells > LARGE * self._size.area)
        sequences = []
        for y, left, part in parts:
            if compared and self._is_shown(y, left, part):
                continue
            if whole_lines:
                self._lines[y] = [(0, part)]
            elif y in self._lines:
                self._lines[y].append((left, part))
                if len(self._lines[y]) > MOST_PARTS:
                    del self._lines[y]
            sequences.append(f"\x1b[{y + 1};{left + 1}H{_without_controls(part).render(console)}")
        return "".join(sequences)

    def _is_shown(self, y: int, left: int, part: Strip) -> bool:
        line = EMPTY
        for at, written in self._lines.get(y, ()):
            line = Strip.join([line.crop(0, at), written, line.crop(at + written.cell_length)])
        return line.crop(left, left + part.cell_length).simplify() == part.simplify()


class NewLines(LayoutUpdate):
    """Textual's full-screen update, without lines that are already shown."""

    def __init__(self, update: LayoutUpdate, content: TerminalContent) -> None:
        super().__init__(update.strips, update.region)
        self._content = content

    def render_segments(self, console: Console) -> str:
        """Return the update as text with escape sequences."""
        numbered = enumerate(self.strips, self.region.y)
        lines = [(y, self.region.x, Strip.join(list(strips))) for y, strips in numbered]
        return self._content.write(lines, console, whole_lines=True)


class ChangedCells(CompositorUpdate):
    """Partial update: the changed cells alone."""

    def __init__(self, parts: list[tuple[int, int, Strip]]) -> None:
        """Create an update of these cells, each part with its line and column."""
        self.parts = parts
        self.content = TerminalContent()
        """Lines that the terminal shows."""

    def render_segments(self, console: Console) -> str:
        """Return the update as text with escape sequences."""
        return self.content.write(self.parts, console, whole_lines=False)


class Span(NamedTuple):
    """Changed cells of a line, all of one widget."""

    widget: Widget
    y: int
    region: Region
    """Region of the widget on the screen."""
    start: int
    stop: int


class SpanCompositor(Compositor):
    """Compositor that renders only lines with changed cells, and only of the widgets that show them."""

    def render_partial_update(self) -> ChangedCells | None:  # type: ignore[override]
        """Return what changed since the last update; None if nothing did."""
        spans = [span for cells in self._regions_to_spans(self._dirty_regions) for span in self._split(*cells)]
        self._dirty_regions.clear()
        return ChangedCells(_rendered(spans)) if spans else None

    def render_full_update(self, simplify: bool = False) -> LayoutUpdate:
        """Return the whole screen. Unlike a screenshot, it doesn't render what other widgets cover."""
        if simplify:
            return super().render_full_update(simplify)
        self._dirty_regions.clear()
        spans = [span for y in range(self.size.height) for span in self._split(y, 0, self.size.width)]
        lines: list[list[Strip]] = [[] for _ in range(self.size.height)]
        for y, _, part in _rendered(spans):
            lines[y].append(part)
        return LayoutUpdate(list(lines), self.size.region)

    def _split(self, y: int, start: int, stop: int) -> Iterator[Span]:
        """Split changed cells by the widgets that show them."""
        while start < stop and (span := self._front(y, start, stop)):
            yield span
            start = span.stop

    def _front(self, y: int, start: int, stop: int) -> Span | None:
        """Return the leading cells of a range that one widget shows."""
        for widget, shown, region in self.layers_visible[y]:  # the widget in front comes first
            if shown.x <= start < shown.right:
                return Span(widget, y, region, start, min(stop, shown.right))
            if start < shown.x:
                stop = min(stop, shown.x)
        return None


def _rendered(spans: Sequence[Span]) -> list[tuple[int, int, Strip]]:
    """Render cells, given from top to bottom; consecutive lines of a widget are rendered at once."""
    rows: dict[tuple[Widget, Region], dict[int, None]] = {}
    for span in spans:
        rows.setdefault((span.widget, span.region), {})[span.y] = None
    lines: dict[tuple[Widget, int], Strip] = {}
    for (widget, region), ys in rows.items():
        for _, run in groupby(enumerate(ys), lambda numbered: numbered[1] - numbered[0]):
            together = [y for _, y in run]
            crop = Region(0, together[0] - region.y, region.width, len(together))
            lines |= zip(((widget, y) for y in together), widget.render_lines(crop), strict=True)
    return [
        (y, start, lines[widget, y].crop(start - region.x, stop - region.x))
        for widget, y, region, start, stop in spans
    ]


def _without_controls(strip: Strip) -> Strip:
    """Remove characters that could control the terminal, from text that a widget failed to sanitize."""
    if all(segment.text.isprintable() for segment in strip):
        return strip
    return Strip([Segment(clean(segment.text), segment.style) for segment in strip])

"""Terminal output diff: write only the cells that changed, and no line that is already shown.

Textual renders a line from the left edge of its widget up to the change (a note in ``ChopsUpdate`` says that it
should do better), and paints a new screen three or four times. This relies on private classes of Textual;
updates of any other form are passed through unchanged.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.control import Control
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Size
from textual.strip import Strip

SPANS = {"chops", "spans", "chop_ends"}
WHOLE = {"strips", "region"}
"""Attributes of the two kinds of update, in the Textual versions tested."""
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

    def without_unchanged(self, update: RenderableType | None) -> RenderableType | None:
        """Reduce an update to what it changes; return any other unchanged."""
        if type(update) is ChopsUpdate and vars(update).keys() == SPANS:
            return NewCells(update, self)
        if type(update) is LayoutUpdate and vars(update).keys() == WHOLE:
            return NewLines(update, self)
        if update is not None:
            self.forget()
        return update

    def forget(self) -> None:
        """Discard the known content, so that everything is written again."""
        self._lines.clear()

    def is_shown(self, y: int, left: int, part: Strip) -> bool:
        """Return whether these cells are already shown at this position."""
        return self._line(y).crop(left, left + part.cell_length).simplify() == part.simplify()

    def record_line(self, y: int, line: Strip) -> None:
        """Record that a whole line has been written."""
        self._lines[y] = [(0, line)]

    def record_cells(self, y: int, left: int, part: Strip) -> None:
        """Record that cells of a line have been written. After too many, its content is unknown."""
        if y in self._lines:
            self._lines[y].append((left, part))
            if len(self._lines[y]) > MOST_PARTS:
                del self._lines[y]

    def is_large(self, spans: Sequence[tuple[int, int, int]]) -> bool:
        """Return whether spans cover so much of the screen that much of it is probably unchanged."""
        cells = sum(stop - start for _, start, stop in spans)
        return self._size is not None and cells > LARGE * self._size.area

    def _line(self, y: int) -> Strip:
        line = EMPTY
        for left, part in self._lines.get(y, ()):
            line = Strip.join([line.crop(0, left), part, line.crop(left + part.cell_length)])
        return line


class NewLines(LayoutUpdate):
    """Textual's full-screen update, without lines that are already shown."""

    def __init__(self, update: LayoutUpdate, content: TerminalContent) -> None:
        super().__init__(update.strips, update.region)
        self._content = content

    def render_segments(self, console: Console) -> str:
        """Return the update as text with escape sequences."""
        return "".join(self._sequences(console))

    def _sequences(self, console: Console) -> Iterator[str]:
        for y, strips in enumerate(self.strips, self.region.y):
            line = Strip.join(list(strips))
            if not self._content.is_shown(y, self.region.x, line):
                self._content.record_line(y, line)
                yield Control.move_to(self.region.x, y).segment.text
                yield line.render(console)


class NewCells(ChopsUpdate):
    """Textual's partial update, with spans cropped at both ends."""

    def __init__(self, update: ChopsUpdate, content: TerminalContent) -> None:
        super().__init__(update.chops, update.spans, update.chop_ends)
        self._content = content

    def render_segments(self, console: Console) -> str:
        """Return the update as text with escape sequences."""
        return "".join(self._sequences(console))

    def _sequences(self, console: Console) -> Iterator[str]:
        large = self._content.is_large(self.spans)
        for y, start, stop in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                left, right = max(start, x), min(stop, end)
                if strip is not None and left < right:
                    part = strip.crop(left - x, right - x)
                    if large and self._content.is_shown(y, left, part):
                        continue
                    self._content.record_cells(y, left, part)
                    yield Control.move_to(left, y).segment.text
                    yield part.render(console)

"""The one seam to Textual's output: of a changed line, only the changed cells are written.

Textual renders a line from the left edge of its widget up to the change (a note in ``ChopsUpdate`` says that it
should do better). A Textual whose updates look otherwise keeps its own output.
"""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.control import Control
from textual._compositor import ChopsUpdate

KNOWN = {"chops", "spans", "chop_ends"}
"""What an update holds in the Textual that this was tried with."""


class CroppedUpdate(ChopsUpdate):
    """Textual's update of some spans of the screen, cropped at both of their ends."""

    def render_segments(self, console: Console) -> str:
        """The update as text with escape sequences."""
        return "".join(self._sequences(console))

    def _sequences(self, console: Console) -> Iterator[str]:
        for y, start, stop in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                left, right = max(start, x), min(stop, end)
                if strip is not None and left < right:
                    yield Control.move_to(left, y).segment.text
                    yield strip.crop(left - x, right - x).render(console)


def cropped(update: RenderableType | None) -> RenderableType | None:
    """An update that writes no more than it changes; anything else as it is."""
    if type(update) is ChopsUpdate and vars(update).keys() == KNOWN:
        return CroppedUpdate(update.chops, update.spans, update.chop_ends)
    return update

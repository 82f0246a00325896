"""Key hints, independent of Textual."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, Span, crop

Keys = tuple[tuple[str, str], ...]
"""Keys and what each does, at most seven."""


ALWAYS = ("help", "quit", "back", "leave", "don't")
"""Actions whose keys are shown at every width."""


def key_lines(keys: Keys, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render as many keys with their actions as fit, always including help and those that leave."""
    remaining = [*keys]
    while len(remaining) > 1 and sum(len(key) + len(does) + 3 for key, does in remaining) > width:
        del remaining[max((at for at, (_, does) in enumerate(remaining) if does not in ALWAYS), default=-1)]
    pieces: list[Span] = []
    for key, does in remaining:
        pieces += ((f" {key} ", "strong"), (f"{does} ", "muted"))
    return [crop(pieces, width, symbols)]

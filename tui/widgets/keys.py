"""Key hints, independent of Textual."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, Span, line

Keys = tuple[tuple[str, str], ...]
"""Keys and what each does, at most seven."""


def key_lines(keys: Keys, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render as many keys with their actions as fit."""
    pieces: list[Span] = []
    room = width
    for key, does in keys:
        entry: tuple[Span, Span] = ((f" {key} ", "strong"), (f"{does} ", "muted"))
        room -= len(key) + len(does) + 3
        if room < 0:
            break
        pieces += entry
    return [line(*pieces)]

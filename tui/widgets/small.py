"""The word that stands alone where the terminal has no room for more; knows no Textual."""

from benchtui.themes import Symbols
from benchtui.tui.drawing.styled_text import Line, line


def small_lines(snapshot: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    """How small the terminal is, and how large it should be."""
    return [line(("terminal too small", "strong")), line((f"{width} by {height}; 60 by 20 at least", "muted"))]

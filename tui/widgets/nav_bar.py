"""One line that says where in the app the reader is, and how to get elsewhere; knows no Textual."""

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, Span, crop
from benchtui.tui.shell.navigation import PLACES, Place


def place_lines(here: Place, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Every place with its key, the one where the reader is brought out."""
    return [crop(place_pieces(here, symbols), width, symbols)]


def place_pieces(here: Place, symbols: Symbols, *, numbered: bool = True) -> list[Span]:
    """Every place with its key, as pieces of a line; without the numbers where they mean something else."""
    pieces: list[Span] = []
    for number, place in enumerate(PLACES, 1):
        role = "accent" if place == here else "muted"
        sign = symbols.chosen if place == here else " "
        pieces += [
            (f"{sign}{number} " if numbered else sign, role),
            (f"{place.capitalize()} ", "strong" if place == here else "muted"),
        ]
    return pieces if numbered else [*pieces, (" ( ) place ", "muted")]

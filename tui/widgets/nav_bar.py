"""Navigation bar: the current view and the keys of the others, independent of Textual."""

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, Span, crop
from benchtui.tui.shell.keymap import key
from benchtui.tui.shell.navigation import PLACES, Place


def place_lines(here: Place, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render all views with their keys, highlighting the current one."""
    return [crop(place_pieces(here, symbols), width, symbols)]


def place_pieces(here: Place, symbols: Symbols, *, numbered: bool = True) -> list[Span]:
    """Return all views with their keys as spans; without numbers where digits do something else."""
    pieces: list[Span] = []
    for place in PLACES:
        role = "accent" if place == here else "muted"
        sign = symbols.chosen if place == here else " "
        pieces += [
            (f"{sign}{key(f'app.{place}')} " if numbered else sign, role),
            (f"{place.capitalize()} ", "strong" if place == here else "muted"),
        ]
    return (
        pieces
        if numbered
        else [*pieces, (f" {key('app.place_before')} {key('app.next_place')} place ", "muted")]
    )

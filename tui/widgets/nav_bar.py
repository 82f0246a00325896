"""Navigation bar: the current view and the keys of the others, independent of Textual."""

import re

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line, Span, crop, width_of
from benchtui.tui.shell.keymap import key
from benchtui.tui.shell.navigation import PLACES, Place


def place_lines(here: Place, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render all views with their keys, highlighting the current one."""
    return [crop(place_pieces(here, width, symbols), width, symbols)]


def place_pieces(here: Place, width: int, symbols: Symbols) -> list[Span]:
    """Return all views with their keys as spans, closer together if they don't fit otherwise."""
    apart, close = (_pieces(here, gap, symbols) for gap in (" ", ""))
    return apart if width_of(apart) <= width else close


def _pieces(here: Place, gap: str, symbols: Symbols) -> list[Span]:
    pieces: list[Span] = []
    for place in PLACES:
        role = "accent" if place == here else "muted"
        sign = symbols.chosen if place == here else " "
        pieces += [
            (f"{sign}{key(f'app.{place}')} ", role),
            (f"{place.capitalize()}{gap}", "strong" if place == here else "muted"),
        ]
    return pieces


def place_at(text: str, column: int) -> Place | None:
    """Return the view whose key or name is at a column of the rendered line; None if there is none."""
    for place in PLACES:
        named = re.search(rf"{re.escape(key(f'app.{place}'))} {place.capitalize()}", text)
        if named and named.start() <= column < named.end():
            return place
    return None

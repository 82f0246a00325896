"""A list of sweeps to open: groups of offers, one of them chosen; knows no Textual."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchtui.themes import Symbols
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import BLANK, Line, crop, line
from benchtui.tui.editor.offers import Offer

NAME = 24


@dataclass(frozen=True, slots=True)
class Choices:
    """What is offered, and which of it is chosen."""

    offers: tuple[Offer, ...]
    chosen: int


def choice_lines(choices: Choices, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """The groups; scrolled so that the chosen offer is in view."""
    rows: list[Line] = []
    at = 0
    for place, offer in enumerate(choices.offers):
        if place == 0 or offer.group != choices.offers[place - 1].group:
            rows += [*([BLANK] if rows else []), line((offer.group, "muted"))]
        if place == choices.chosen:
            at = len(rows)
        rows.append(_offer(offer, place == choices.chosen, width, symbols))
    return _window(rows, at, height) or [
        line(("nothing here has that in its name; enter opens it as a path", "muted"))
    ]


def _window(rows: Sequence[Line], at: int, height: int) -> Sequence[Line]:
    top = max(0, min(at - height // 2, len(rows) - height))
    return rows[top : top + max(height, 0)]


def _offer(offer: Offer, chosen: bool, width: int, symbols: Symbols) -> Line:
    mark = symbols.chosen if chosen else " "
    size = min(NAME, width // 3)
    name = (f"{fit(offer.name, size, symbols)}  ", "strong" if chosen else "plain")
    about = (offer.problem, "warning") if offer.problem else (offer.about, "muted")
    return crop([(f"{mark} ", "accent"), name, about], width, symbols)

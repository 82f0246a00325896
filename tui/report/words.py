"""Colors of verdicts in a report's text, and its signs in ASCII."""

import re
from collections.abc import Iterator

from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.model.row_cells import ANSWER_ROLES, VERDICT_ROLES

_ROLES = {verdict.name: role for verdict, role in VERDICT_ROLES.items()} | {
    answer.upper(): role for answer, role in ANSWER_ROLES.items()
}
_VERDICT = re.compile(rf"\b({'|'.join(_ROLES)})\b")
_IN_CELL = re.compile(_VERDICT.pattern, re.IGNORECASE)
"""Matches verdicts in a cell, where the same word can't be part of a sentence."""
_ASCII = str.maketrans(
    {"×": "x", "–": "-", "±": "+-", "µ": "u", "μ": "u", "…": "...", "≈": "~", "≤": "<=", "≥": ">=", "°": ""}
)


def verdict_spans(text: str, role: str = "plain", *, in_cell: bool = False) -> Iterator[Span]:
    """Split a text at its verdicts, which get the colors that they have on screen."""
    for place, part in enumerate((_IN_CELL if in_cell else _VERDICT).split(text)):
        yield part, _ROLES[part.upper()] if place % 2 else role


def ascii_text(text: str) -> str:
    """Replace the signs of a report. Other text, such as names, is kept."""
    return text.translate(_ASCII)

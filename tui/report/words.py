"""Colors of verdicts in a report's text."""

import re
from collections.abc import Iterator

from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.model.row_cells import ANSWER_ROLES, VERDICT_ROLES

_ROLES = {verdict.name: role for verdict, role in VERDICT_ROLES.items()} | {
    answer.upper(): role for answer, role in ANSWER_ROLES.items()
}
_VERDICT = re.compile(rf"\b({'|'.join(_ROLES)})\b")


def verdict_spans(text: str, role: str = "plain") -> Iterator[Span]:
    """Split a text at its verdicts, which get the colors that they have on screen."""
    for place, part in enumerate(_VERDICT.split(text)):
        yield part, _ROLES[part] if place % 2 else role

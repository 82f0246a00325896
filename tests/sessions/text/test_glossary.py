"""The phrases of results: few, and each defined in the documentation."""

import re
from pathlib import Path

from benchtui.sessions.text.wording import Phrase

PAGE = Path(__file__).parents[3] / "docs" / "reading-a-report.md"


def test_every_phrase_is_defined_and_every_definition_has_a_phrase() -> None:
    table = PAGE.read_text().partition("\n## Phrases\n")[2]
    defined = re.findall(r"^\| (?!phrase |-)(.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert len(Phrase) <= 40
    assert [phrase for phrase, _ in defined] == [str(phrase) for phrase in Phrase]
    assert all(meaning for _, meaning in defined)

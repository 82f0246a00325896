"""The phrases of results: few, and each defined in the documentation."""

import re
from pathlib import Path

from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.text.wording import Phrase

PAGE = Path(__file__).parents[3] / "docs" / "reading-a-report.md"
MOST_PHRASES = 40


def test_every_phrase_is_defined_and_every_definition_has_a_phrase() -> None:
    table = PAGE.read_text().partition("\n## Phrases\n")[2]
    defined = re.findall(r"^\| (?!phrase |-)(.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert [phrase for phrase, _ in defined] == [str(phrase) for phrase in Phrase]
    assert all(meaning for _, meaning in defined)


def test_phrases_are_few_and_include_the_verdicts() -> None:
    assert len(Phrase) <= MOST_PHRASES
    assert {verdict.name for verdict in Verdict} <= {str(phrase) for phrase in Phrase}

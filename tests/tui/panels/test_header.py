from dataclasses import replace

import pytest

from benchtui.themes.symbols import UNICODE
from benchtui.tui.panels.header import Heading, count_text, percent_text

HEADING = Heading(
    name="s", host="", device="", done=3, total=10, progress=0.3, state="running", left=None, about=""
)


def test_skipped_cases_are_counted_apart() -> None:
    assert count_text(HEADING, UNICODE) == " 3/10 cases"
    assert count_text(replace(HEADING, skipped=8), UNICODE) == " 3/10 cases · 8 skipped"


@pytest.mark.parametrize(
    ("progress", "text"), [(0.0, "   0 %"), (0.29, "  29 %"), (0.9999, "  99 %"), (1.0, " 100 %")]
)
def test_progress_is_100_percent_only_at_the_end(progress: float, text: str) -> None:
    assert percent_text(progress) == text

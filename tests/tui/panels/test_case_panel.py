import pytest

from benchtui.sessions.estimates.eta import StepsLeft
from benchtui.themes.symbols import UNICODE
from benchtui.tui.panels.case_panel import needs_words


@pytest.mark.parametrize(
    ("needed", "text"),
    [
        (StepsLeft(15), "needs 15 more"),
        (StepsLeft(230, rough=True, min_time_s=2.5), "needs ≈230 more for 2.5 s"),
        (StepsLeft(250, rough=True), "needs ≈250 more to estimate the noise"),
    ],
)
def test_steps_that_a_round_still_needs_are_shown_with_what_they_are_for(needed: StepsLeft, text: str) -> None:
    assert needs_words(needed, UNICODE) == text

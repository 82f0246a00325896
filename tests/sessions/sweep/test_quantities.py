import pytest

from benchtui.sessions.sweep.ranges import parse_quantity

DURATION_S = {"d": 86400, "h": 3600, "m": 60, "s": 1}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("1.5h", 5400), (" 1m 1s ", 61), ("1d12h", 129_600), ("0 s", 0)],
)
def test_numbers_with_units_are_added_up(text: str, seconds: float) -> None:
    assert parse_quantity(text, DURATION_S) == seconds


@pytest.mark.parametrize("text", ["", " ", "90", "5 w", "m", "30s10m", "1 0m", "-1s", "1h1h", "1H"])
def test_other_text_is_no_quantity(text: str) -> None:
    assert parse_quantity(text, DURATION_S) is None


@pytest.mark.parametrize("text", ["1.5h", "1" * 10 + "s", "٣h"])
def test_whole_numbers_have_at_most_nine_ascii_digits(text: str) -> None:
    assert parse_quantity(text, DURATION_S, whole=True) is None
    assert parse_quantity(text, DURATION_S) is not None

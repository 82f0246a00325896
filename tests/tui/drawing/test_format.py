import pytest

from benchtui.sessions.text import formatting
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.drawing import format


def test_control_characters_are_removed() -> None:
    assert format.clean("\x1b[31mred\x1b]0;t\x07\r\nnext\x9b\u202eleft") == "[31mred]0;t  nextleft"


def test_other_scripts_are_kept() -> None:
    assert format.clean("模型 é ü") == "模型 é ü"


def test_text_is_padded_or_shortened_to_a_width() -> None:
    assert format.fit("abc", 5, UNICODE) == "abc  "
    assert format.fit("abcdef", 4, UNICODE) == "abc…"
    assert format.fit("模型模型", 5, UNICODE) == "模型…"
    assert format.fit("abcdef", 4, ASCII) == "ab.."
    assert format.fit("abc", 0, UNICODE) == ""


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 m 00 s"), (72, "1 m 12 s"), (7500, "2 h 05 m")],
)
def test_durations_have_at_most_two_units(seconds: float, shown: str) -> None:
    assert format.duration(seconds) == shown


@pytest.mark.parametrize(
    ("mb", "shown"), [(None, "–"), (893.4, "852 MiB"), (12_345, "11.5 GiB"), (139_870, "130 GiB")]
)
def test_sizes_are_formatted(mb: float | None, shown: str) -> None:
    assert format.memory(mb, UNICODE) == shown


def test_percentages_are_formatted() -> None:
    assert [format.percent(value, UNICODE) for value in (None, 0.412, 12.34)] == ["–", "0.41", "12.3"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0561, "0.0561"), (5.6, "5.60"), (27.87, "27.9"), (99.96, "100"), (360.4, "360"), (12_504.0, "12,500")],
)
def test_numbers_have_three_significant_digits(value: float, text: str) -> None:
    assert format.significant(value) == text


def test_unknown_numbers_have_a_sign_instead_of_digits() -> None:
    assert format.significant(None, UNICODE) == format.significant(float("nan"), UNICODE) == "–"
    assert format.significant(0.0) == "0"


def test_screen_and_report_round_alike() -> None:
    for value in (0.0, 1.2e-7, 0.05, 0.9996, 1.0, 59.63, 999.6, 12_345.6, -4.5):
        assert format.significant(value, UNICODE) == formatting.number(value)
        assert format.memory(value, UNICODE) == formatting.memory(value)
        assert format.percent(value, UNICODE) == formatting.percent(value / 100)


def test_an_interval_wider_than_its_value_has_no_number() -> None:
    assert format.half_width(0.3, UNICODE) == "±0.30 %"
    assert format.half_width(872.5, UNICODE) == "±>100 %" and format.half_width(872.5, ASCII) == "+->100 %"


def test_names_are_counted_in_order() -> None:
    assert format.counted(["A", "A", "B"]) == "2 x A, B"
    assert format.counted(["A"]) == "A" and format.counted([]) == ""


def test_memory_shows_three_digits_and_its_unit() -> None:
    shown = [format.memory(value, UNICODE) for value in (None, 700.4, 1600, 14_130, 141_300)]
    assert shown == ["–", "668 MiB", "1.49 GiB", "13.2 GiB", "132 GiB"]

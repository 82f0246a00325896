from math import isnan, nan

from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.drawing.bars import bar, buckets, history


def drawn(fraction: float | None, width: int = 4) -> str:
    return "".join(text for text, _ in bar(fraction, width, UNICODE))


def test_bar_fills_in_half_cells() -> None:
    assert drawn(0.5) == "━━──"
    assert drawn(0.625) == "━━╸─"
    assert drawn(0.0) == drawn(None) == "────"
    assert drawn(7.0) == "━━━━"
    assert drawn(0.5, 0) == ""


def test_ascii_bar_uses_ascii_characters() -> None:
    assert "".join(text for text, _ in bar(0.625, 4, ASCII)) == "##=-"


def test_history_is_right_aligned_on_a_fixed_scale() -> None:
    assert history([0.5, 1.0, nan, 0.001, 0.0], 1.0, 7, UNICODE) == "  ▄█ ▁ "
    assert history([1.0, 0.5, 0.25], 1.0, 2, UNICODE) == "▄▂"


def test_buckets_are_means_of_whole_intervals() -> None:
    means = buckets([10.1, 10.6, 11.2, 12.9], [1.0, 3.0, 5.0, 7.0], 3, 1.0)
    assert means == [2.0, 5.0, 7.0]


def test_one_late_reading_leaves_no_gap_but_a_long_pause_does() -> None:
    means = buckets([1.0, 3.0, 7.0], [1.0, 3.0, 7.0], 7, 1.0)
    assert means[:4] == [1.0, 1.0, 3.0, 3.0]
    assert all(isnan(value) for value in means[4:6])
    assert means[6] == 7.0


def test_buckets_drop_readings_older_than_the_window() -> None:
    assert buckets([1.0, 50.0], [1.0, 2.0], 2, 1.0)[-1] == 2.0
    assert buckets([], [], 2, 1.0) == []


def test_out_of_order_readings_are_accepted() -> None:
    assert buckets([9.0, 50.0, 3.0], [1.0, 2.0, 3.0], 4, 1.0)[-1] == 3.0

from math import isnan, nan

from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.drawing.bars import RatioRange, bar, buckets, gauge_bar, history, ratio_bar, severity


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


def test_gauge_bar_fills_in_eighths_between_its_ends() -> None:
    def text(fraction: float | None, symbols: Symbols = UNICODE) -> str:
        return "".join(part for part, _ in gauge_bar(fraction, 6, symbols, "good"))

    assert text(0.5) == "▕██··▏"
    assert text(0.53125) == "▕██▏·▏"
    assert text(None) == text(0.0) == "▕····▏"
    assert text(3.0) == "▕████▏"
    assert text(0.5, ASCII) == "[##..]"


def ratio_text(low: float, high: float, width: int = 11, symbols: Symbols = UNICODE) -> str:
    return "".join(part for part, _ in ratio_bar(RatioRange(low, high, 16.0), width, symbols, "good"))


def test_a_ratio_bar_diverges_from_1_on_a_logarithmic_scale() -> None:
    assert ratio_text(4.0, 4.0) == "▕    │██  ▏"
    assert ratio_text(0.25, 0.25) == "▕  ██│    ▏"
    assert ratio_text(1.0, 1.0) == "▕    │    ▏"
    assert ratio_text(2**0.5, 2**0.5) == "▕    │▌   ▏" and ratio_text(2**-0.5, 2**-0.5) == "▕   ▐│    ▏"


def test_the_interval_of_a_ratio_is_the_light_end_of_its_bar() -> None:
    assert ratio_text(2.0, 8.0) == "▕    │█▒▒ ▏"
    assert ratio_text(0.5, 4.0) == "▕   ▒│▒▒  ▏"
    assert ratio_text(1 / 8, 1 / 2) == "▕ ▒▒█│    ▏"


def test_a_ratio_beyond_the_bar_fills_its_side_and_no_more() -> None:
    for width in range(3, 14):
        for low, high in ((1e-9, 2e-9), (1e-9, 1e9), (500.0, 1e9)):
            assert len(ratio_text(low, high, width)) == 3 + (width - 3) // 2 * 2
    assert ratio_text(500.0, 600.0) == "▕    │████▏"


def test_a_ratio_bar_is_drawn_in_ascii_too() -> None:
    assert ratio_text(2.0, 8.0, symbols=ASCII) == "[    |#++ ]"
    assert ratio_text(0.25, 0.25, symbols=ASCII) == "[  ##|    ]"


def test_severity_rises_with_the_share_of_the_limit() -> None:
    roles = [severity(fraction, 0.8, 0.95) for fraction in (None, 0.1, 0.8, 0.949, 0.95, 1.2)]
    assert roles == ["muted", "good", "warning", "warning", "bad", "bad"]


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

from math import isnan

from benchtui.themes.symbols import UNICODE, Symbols
from benchtui.tui.drawing.bars import buckets, ratio_bar, severity


def ratio_text(low: float, high: float, width: int = 11, symbols: Symbols = UNICODE) -> str:
    return "".join(part for part, _ in ratio_bar((low, high), 16.0, width, symbols, "good"))


def test_a_ratio_bar_diverges_from_1_on_a_logarithmic_scale() -> None:
    assert ratio_text(4.0, 4.0) == "▕    │██  ▏"
    assert ratio_text(0.25, 0.25) == "▕  ██│    ▏"
    assert ratio_text(1.0, 1.0) == "▕    │    ▏"
    assert ratio_text(2**0.5, 2**0.5) == "▕    │▌   ▏" and ratio_text(2**-0.5, 2**-0.5) == "▕   ▐│    ▏"


def test_a_ratio_beyond_the_bar_fills_its_side_and_no_more() -> None:
    for width in range(3, 14):
        for low, high in ((1e-9, 2e-9), (1e-9, 1e9), (500.0, 1e9)):
            assert len(ratio_text(low, high, width)) == 3 + (width - 3) // 2 * 2
    assert ratio_text(500.0, 600.0) == "▕    │████▏"


def test_severity_rises_with_the_share_of_the_limit() -> None:
    roles = [severity(fraction, 0.8, 0.95) for fraction in (None, 0.1, 0.8, 0.949, 0.95, 1.2)]
    assert roles == ["muted", "good", "warning", "warning", "bad", "bad"]


def test_one_late_reading_leaves_no_gap_but_a_long_pause_does() -> None:
    means = buckets([1.0, 3.0, 7.0], [1.0, 3.0, 7.0], 7, 1.0)
    assert means[:4] == [1.0, 1.0, 3.0, 3.0]
    assert all(isnan(value) for value in means[4:6])
    assert means[6] == 7.0

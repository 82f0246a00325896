from itertools import pairwise

import pytest

from benchtui.tui.drawing.axis_scale import from_zero, labels, linear, logarithmic, time_interval, time_text


@pytest.mark.parametrize(("least", "most", "count"), [(0, 13.7, 5), (0, 9.9e8, 7), (0, 0.0123, 3), (0, 0, 4)])
def test_linear_ticks_are_round_and_cover_the_values(least: float, most: float, count: int) -> None:
    scale = linear(least, most, count)
    assert scale.ticks[0] == 0 and scale.high >= most and 2 <= len(scale.ticks) <= max(count, 2)
    step = scale.ticks[1]
    assert f"{step:e}"[0] in "125" and float(f"{step:.0e}") == pytest.approx(step)


@pytest.mark.parametrize(("least", "most"), [(1.4, 60), (3, 3), (0.002, 90_000)])
def test_logarithmic_ticks_cover_the_values(least: float, most: float) -> None:
    scale = logarithmic(least, most, 7)
    assert scale.low <= least <= most <= scale.high and scale.low < scale.high
    assert scale.share(scale.low) == 0 and scale.share(scale.high) == 1
    assert len(scale.ticks) <= 7


def test_labels_never_touch_and_include_both_ends() -> None:
    texts = labels([1000, 1001, 1002, 1003], lambda tick: int(tick - 1000) * 4, 16)
    assert [text for _, text in texts][::3] == ["1,000"] and texts[-1][1] == "1,003"
    assert all(start + len(text) < after for (start, text), (after, _) in pairwise(texts))


@pytest.mark.parametrize(
    ("least_s", "interval", "text"),
    [(0.03, 0.1, "0.1 s"), (4.0, 5, "5 s"), (31.0, 60, "1 m"), (70.0, 120, "2 m"), (4000.0, 7200, "2 h")],
)
def test_time_axes_have_round_intervals(least_s: float, interval: float, text: str) -> None:
    assert time_interval(least_s) == interval and time_text(interval) == text


@pytest.mark.parametrize(
    ("most", "count", "end"),
    [(672, 4, 750), (6176, 9, 7000), (13.7, 5, 15), (94, 7, 100), (3, 2, 3), (0, 4, 1)],
)
def test_axis_from_zero_ends_at_a_round_value_near_the_data(most: float, count: int, end: float) -> None:
    scale = from_zero(most, count)
    assert scale.low == 0 and scale.high == pytest.approx(end) and len(scale.ticks) <= max(count, 3)

import numpy as np
import pytest

from benchtui.themes.symbols import UNICODE
from benchtui.tui.compare.distributions import TimeAxis, Times, overlay_lines


def times(letter: str, *values: float) -> Times:
    return Times(letter, np.array(values), float(np.median(values)), "plain")


def texts(*both: Times, width: int = 60, height: int = 6, symbols: object = UNICODE) -> list[str]:
    return ["".join(text for text, _ in line) for line in overlay_lines(both, width, height, symbols)]  # type: ignore[arg-type]


def test_a_wide_range_uses_a_labeled_logarithmic_axis() -> None:
    assert TimeAxis.over([times("A", 1.0, 1.1), times("B", 99.0, 100.0)], 50).scale.logarithmic
    assert not TimeAxis.over([times("A", 1.0, 1.1), times("B", 2.0, 2.1)], 50).scale.logarithmic
    assert "logarithmic" in texts(times("A", *[1.0] * 10), times("B", *[100.0] * 10))[-1]


def test_far_outliers_are_counted_without_compressing_the_axis() -> None:
    made = texts(times("A", *[10.0] * 20, 900.0), times("B", *[11.0] * 20))
    assert "1 above" in made[-1]
    assert made[-1].rstrip().endswith("16.50 ms")


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_identical_step_times_are_drawn(value: float) -> None:
    assert len(texts(times("A", *[value] * 10), times("B", *[value] * 10))) == 6


def test_nothing_is_drawn_if_space_is_too_small() -> None:
    both = (times("A", 1.0, 2.0), times("B", 1.0, 2.0))
    assert texts(*both, width=15) == texts(*both, height=2) == []


def test_no_line_exceeds_the_width() -> None:
    for width in (30, 61, 137):
        for n in (6, 50, 3000):
            values = np.random.default_rng(1).normal(10, 1, n)
            made = texts(times("A", *values), times("B", *values + 1), width=width)
            assert max(map(len, made)) <= width

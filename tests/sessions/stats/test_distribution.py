import random
import sys
from array import array
from statistics import median

import pytest

from benchtui.sessions.stats import distribution
from benchtui.sessions.stats.distribution import LEAST_DEVIATION, OUTLIER_THRESHOLD, inlier_range, outliers
from benchtui.sessions.stats.quantiles import LEAST_FOR_OUTLIERS


def test_a_step_ten_deviations_off_is_flagged_by_its_place() -> None:
    times_ms = [10.0, 10.1, 9.9, 10.05, 9.95] * 4
    assert outliers(times_ms) == ()
    assert outliers([*times_ms[:3], 30.0, *times_ms[3:], 2.0]) == (3, 21)


def test_the_threshold_is_near_fifteen_median_deviations() -> None:
    steady = [9.0, 9.0, 10.0, 11.0, 11.0] * 10
    assert outliers([*steady, 24.8]) == ()
    assert outliers([*steady, 24.9]) == (50,)


def test_times_that_agree_exactly_have_no_outlier_but_a_real_one() -> None:
    assert outliers([20.0] * 30 + [20.1]) == ()
    assert outliers([20.0] * 30 + [900.0]) == (30,)
    assert outliers([]) == ()
    assert outliers([0.0] * 5) == ()


def test_no_step_is_an_outlier_among_too_few() -> None:
    steady = [20.0] * (LEAST_FOR_OUTLIERS - 2)
    assert outliers([20.0, 20.0, 900.0]) == ()
    assert outliers([*steady, 900.0]) == ()
    assert outliers([*steady, 20.0, 900.0]) == (LEAST_FOR_OUTLIERS - 1,)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 50, 101])
def test_the_bounds_are_by_the_median_of_all_distances(n: int) -> None:
    draw = random.Random(n)
    for _ in range(50):
        times_ms = sorted(draw.choice((draw.gauss(10, 3), round(draw.random(), 1), 7.0)) for _ in range(n))
        middle = median(times_ms)
        unit = max(median(abs(each - middle) for each in times_ms), LEAST_DEVIATION * abs(middle))
        low, high = middle - OUTLIER_THRESHOLD * unit, middle + OUTLIER_THRESHOLD * unit
        assert inlier_range(times_ms) == (pytest.approx(low), pytest.approx(high))


def test_statistics_are_the_same_with_and_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    times_ms = array("d", (10 + (step * 7919 % 997) / 100 for step in range(3000)))
    usual = distribution.distribution(times_ms), distribution.sample(times_ms)
    monkeypatch.setattr(distribution, "MANY", 1)
    assert (distribution.distribution(times_ms), distribution.sample(times_ms)) == usual
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert (distribution.distribution(times_ms), distribution.sample(times_ms)) == usual

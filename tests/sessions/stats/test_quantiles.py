import numpy as np
import pytest

from benchtui.sessions.stats.quantiles import half_width_percent, median_interval, per_second, percentile


@pytest.mark.parametrize("n", [1, 2, 5, 20, 101])
@pytest.mark.parametrize("percent", [0, 25, 50, 90, 99, 100])
def test_percentiles_equal_those_of_numpy(n: int, percent: int) -> None:
    values = np.sort(np.random.default_rng(n).lognormal(size=n))
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)))


def test_a_percentile_of_too_few_values_is_unknown() -> None:
    assert percentile([1.0] * 99, 99, 100) is None
    assert percentile([1.0] * 100, 99, 100) == 1.0
    assert percentile([], 50) is None


def test_the_interval_of_the_median_needs_six_values() -> None:
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (1.0, 6.0)


def test_the_half_width_is_relative_to_the_middle() -> None:
    assert half_width_percent((9.0, 11.0), 10.0) == 10.0
    assert half_width_percent(None, 10.0) is None
    assert half_width_percent((0.0, 0.0), 0.0) is None


def test_a_rate_is_total_over_total_and_unknown_without_time() -> None:
    assert per_second(8, 400.0) == 20.0
    assert per_second(0, 400.0) == 0.0
    assert per_second(None, 400.0) is None
    assert per_second(8, 0.0) is None

import random

import pytest

from benchtui.sessions.stats.case_metrics import Metrics
from benchtui.sessions.stats.distribution import distribution
from benchtui.themes.symbols import UNICODE
from benchtui.tui.case.distribution import bin_step_times, distribution_lines


def lines(times_ms: list[float]) -> list[str]:
    latency = distribution(times_ms)
    assert latency is not None
    known = Metrics(
        latency_ms=latency,
        device_ms=None,
        parts_ms={},
        first_step_ms=None,
        cold_cost_ms=None,
        rounds_ms=(),
        rounds=(),
        between_rounds_percent=None,
        outliers=(),
        samples_per_step=1,
    )
    drawn = distribution_lines(known, bin_step_times(times_ms, ()), 100, UNICODE)
    return ["".join(text for text, _ in row) for row in drawn]


@pytest.mark.parametrize(("steps", "most"), [(7, 5), (20, 8), (120, 12), (10_000, 26)])
def test_few_steps_have_few_bins(steps: int, most: int) -> None:
    draw = random.Random(steps)
    bins = bin_step_times([draw.gauss(100, 5) for _ in range(steps)], ())
    assert bins is not None and 2 <= len(bins.counts) <= most and sum(bins.counts) == steps


@pytest.mark.parametrize(
    ("times_ms", "bounds"),
    [
        ([27.61 + step / 100 for step in range(20)], "27.60 to 27.65 ms"),
        ([360.0 + 20 * step for step in range(20)], "300 to 400 ms"),
        ([0.0123 + step / 10_000 for step in range(20)], "0.0120 to 0.0125 ms"),
    ],
)
def test_bounds_of_bins_are_round(times_ms: list[float], bounds: str) -> None:
    first = next(row for row in lines(times_ms) if " to " in row and " ms " in row and "interval" not in row)
    assert first.strip().startswith(bounds)


def test_too_few_steps_have_no_histogram() -> None:
    assert bin_step_times([1.0, 2.0, 3.0], ()) is None
    assert lines([1.0, 2.0, 3.0])[-1] == "too few different steps for a histogram"


def test_a_case_with_few_steps_does_not_claim_to_have_no_outliers() -> None:
    assert lines([10.0 + step for step in range(19)])[-1] == "outliers are flagged from 20 steps on"
    assert lines([10.0 + step for step in range(20)])[-1] == "no outliers"


def test_an_interval_wider_than_the_median_has_no_number() -> None:
    assert "±>100 %" in "".join(lines([1.0, 1.0, 1.5, 2.0, 50.0, 60.0, 70.0]))

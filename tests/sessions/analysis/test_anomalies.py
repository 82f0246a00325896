"""What counts as an anomaly, and what doesn't."""

from typing import Any

import pytest

from benchtui.sessions.analysis.anomalies import Anomaly, anomalies
from benchtui.sessions.payloads import Environment, Reported


def found(bench: Any, *made: Any) -> list[Anomaly]:
    return list(anomalies(bench.results(*made), ()))


def steps(bench: Any, times_ms: list[float]) -> list[Anomaly]:
    return found(bench, bench.case(1, times_ms))


def noisy(middle_ms: float, count: int) -> list[float]:
    """Times evenly spread by 2% around the middle, in an order that doesn't rise."""
    return [middle_ms * (1 + 0.02 * ((place * 7 % count) / count - 0.5)) for place in range(count)]


def test_size_that_no_neighbors_explain_is_off_the_trend(bench: Any) -> None:
    times = {1: 10.0, 2: 20.0, 4: 30.0, 8: 80.0, 16: 160.0}
    (only,) = found(bench, *(bench.case(size, ms) for size, ms in times.items()))
    assert (only.kind, only.result.config.batch_size) == ("off the trend", 4)
    assert only.share == pytest.approx(30 / 40 - 1)
    assert only.bounds is not None
    low, high = only.bounds
    assert low < only.share < high < 0
    assert [row.config.batch_size for row in only.others] == [2, 8]


@pytest.mark.parametrize(
    "times",
    [
        {size: 10.0 * size**0.7 for size in (1, 2, 4, 8, 16)},  # a power law
        {1: 10.0, 2: 10.0, 4: 10.0, 8: 20.0, 16: 40.0, 32: 80.0},  # a device that is full from 4 on
        {1: 12.0, 2: 14.0, 4: 18.0, 8: 26.0, 16: 42.0},  # a fixed cost and one for each sample
        {1: 10.0, 2: 20.0, 4: 30.0},  # too few sizes to tell a bend from a bump
        {1: 10.0, 2: 20.0, 4: 39.2, 8: 80.0, 16: 160.0},  # within the least shift
    ],
)
def test_typical_scaling_curves_are_not_anomalies(bench: Any, times: dict[int, float]) -> None:
    assert not found(bench, *(bench.case(size, ms) for size, ms in times.items()))


def test_deviation_within_noise_is_not_an_anomaly(bench: Any) -> None:
    def wide(middle_ms: float) -> list[float]:
        return [middle_ms * (0.7 + 0.6 * place / 29) for place in range(30)]

    times = {1: 10.0, 2: 20.0, 4: 34.0, 8: 80.0, 16: 160.0}
    assert not found(bench, *(bench.case(size, wide(ms)) for size, ms in times.items()))


def test_disturbed_size_is_odd_and_not_the_one_next_to_it(bench: Any) -> None:
    """Batch size 16 ran next to another process, which makes the size before it look fast."""
    around = {"environment": Environment(others_cpu_percent=80.0, processors=2)}
    times = {1: 10.0, 2: 20.0, 4: 40.0, 16: 260.0, 32: 320.0, 64: 640.0}
    made = [bench.case(size, ms, end=around if size == 16 else {}) for size, ms in times.items()]
    (only,) = found(bench, *made)
    assert (only.kind, only.result.config.batch_size) == ("off the trend", 16)
    assert only.share == pytest.approx(260 / 160 - 1)
    assert only.causes, "what disturbed it explains it"


def test_size_next_to_a_disturbed_one_at_the_end_is_not_blamed(bench: Any) -> None:
    around = {"environment": Environment(others_cpu_percent=80.0, processors=2)}
    times = {1: 10.0, 2: 20.0, 4: 40.0, 16: 400.0}
    made = [bench.case(size, ms, end=around if size == 16 else {}) for size, ms in times.items()]
    assert not found(bench, *made)


def test_anomaly_in_imported_results_without_steps_has_no_bounds(bench: Any) -> None:
    times = {1: 10.0, 2: 20.0, 4: 34.0, 8: 80.0, 16: 160.0}
    reported = [
        bench.case(
            size, end={"reported": Reported(steps=20, latency_mean_ms=ms, samples_per_s=1000 * size / ms)}
        )
        for size, ms in times.items()
    ]
    (only,) = found(bench, *reported)
    assert (only.kind, only.bounds) == ("off the trend", None)


def test_larger_batch_with_a_shorter_step_is_an_anomaly(bench: Any) -> None:
    (only,) = found(bench, bench.steady(1, 20.0), bench.steady(2, 15.0))
    assert (only.kind, only.share) == ("shorter step", pytest.approx(-0.25))
    assert only.bounds == (pytest.approx(-0.2516, abs=0.0005), pytest.approx(-0.2484, abs=0.0005))
    assert not found(bench, bench.steady(1, 20.0), bench.steady(2, 19.95))


def test_bounds_of_single_round_cases_include_process_variation(bench: Any) -> None:
    (only,) = found(bench, bench.case(1, 20.0), bench.case(2, 15.0))
    assert only.bounds == (pytest.approx(-0.32, abs=0.01), pytest.approx(-0.17, abs=0.01))
    assert not found(bench, bench.case(1, 20.0), bench.case(2, 19.0))
    assert found(bench, bench.steady(1, 20.0), bench.steady(2, 19.0))


def test_drifting_steps_are_an_anomaly(bench: Any) -> None:
    (only,) = steps(bench, [10 + 2 * place / 99 for place in range(100)])
    assert (only.kind, only.share) == ("drift", pytest.approx(0.14, abs=0.02))
    assert not steps(bench, noisy(10.0, 100))
    assert not steps(bench, [10.0, 12.0] * 10)


def test_drift_is_searched_within_each_round(bench: Any) -> None:
    """Rounds that differ are noise between rounds, which has its own metric, not drift."""
    assert not found(bench, bench.case(1, rounds=(noisy(10.0, 60), noisy(12.0, 60))))
    rising = [10 + 2 * place / 99 for place in range(100)]
    (only,) = found(bench, bench.case(1, rounds=(noisy(11.0, 60), rising)))
    assert only.kind == "drift"


def test_bimodal_steps_are_an_anomaly(bench: Any) -> None:
    mixed = [time for pair in zip(noisy(10.0, 50), noisy(13.0, 50), strict=True) for time in pair]
    (only,) = steps(bench, mixed)
    assert (only.kind, only.share) == ("two modes", pytest.approx(0.3, abs=0.01))
    assert steps(bench, [*mixed, 500.0])[0].kind == "two modes"


@pytest.mark.parametrize("few", [0, 1, 5])
def test_outliers_are_not_a_second_mode(bench: Any, few: int) -> None:
    assert not steps(bench, [*noisy(10.0, 95), *[40.0] * few])


def test_tokenizing_that_dominates_a_step_is_an_anomaly(bench: Any) -> None:
    parts = {"tokenize": [6.0] * 30, "forward": [4.0] * 30}
    (only,) = found(bench, bench.case(1, 10.0, parts=parts))
    assert (only.kind, only.share) == ("tokenizing", pytest.approx(0.6))
    parts = {"tokenize": [4.0] * 30, "forward": [6.0] * 30}
    assert not found(bench, bench.case(1, 10.0, parts=parts))


def test_two_odd_sizes_are_found_without_their_neighbors(bench: Any) -> None:
    times = {size: 10.0 * size for size in (1, 2, 4, 8, 16, 32, 64, 128)}
    times |= {4: 30.0, 32: 400.0}
    odd = found(bench, *(bench.steady(size, ms) for size, ms in times.items()))
    assert [(each.result.config.batch_size, each.share) for each in odd] == [
        (4, pytest.approx(-0.25)),
        (32, pytest.approx(0.25)),
    ]


def test_series_without_a_trend_has_no_anomalies(bench: Any) -> None:
    zigzag = [bench.case(size, 10.0 * size * (1 + size % 2)) for size in range(1, 60)]
    assert not [each for each in found(bench, *zigzag) if each.kind == "off the trend"]

from math import comb, sqrt
from typing import Any

import pytest

from benchtui.sessions.facts import Energy, Reported
from benchtui.sessions.metrics import Metrics, distribution, metrics


def figures(bench: Any, *made: Any) -> Metrics:
    found = metrics(bench.session(*made).cases[0])
    assert found is not None
    return found


def test_figures_of_a_handful_of_times() -> None:
    spread = distribution([4.0, 2.0, 8.0, 6.0])
    assert spread is not None
    assert (spread.n, spread.mean, spread.median, spread.least, spread.most) == (4, 5.0, 5.0, 2.0, 8.0)
    assert spread.std == pytest.approx(sqrt(20 / 3))  # (9 + 1 + 1 + 9) / (4 - 1)
    assert spread.jitter_percent == pytest.approx(100 * sqrt(20 / 3) / 5)


def test_of_nothing_there_is_no_spread_and_of_one_value_no_deviation() -> None:
    assert distribution([]) is None
    spread = distribution([3.0])
    assert spread is not None
    assert (spread.mean, spread.median, spread.std, spread.low, spread.jitter_percent) == (
        3.0,
        3.0,
        None,
        None,
        None,
    )


def test_percentiles_lie_between_the_nearest_ranks() -> None:
    spread = distribution(range(101))
    assert spread is not None
    assert (spread.median, spread.p90, spread.p95, spread.p99) == (50.0, 90.0, 95.0, 99.0)
    spread = distribution([*range(99), 1098])
    assert spread is not None
    assert spread.p99 == pytest.approx(98 + 0.01 * 1000)  # rank 98.01 of 0 to 99


@pytest.mark.parametrize(("percentile", "least"), [("p90", 20), ("p95", 40), ("p99", 100)])
def test_a_percentile_needs_its_number_of_steps(percentile: str, least: int) -> None:
    assert getattr(distribution([1.0] * (least - 1)), percentile) is None
    assert getattr(distribution([1.0] * least), percentile) == 1.0


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (10, 2, 9), (20, 6, 15), (100, 40, 61)])
def test_the_interval_of_the_median_ends_at_the_ranks_of_the_tables(n: int, low: int, high: int) -> None:
    """Ranks of the exact interval, as printed in Conover's table of order statistics and many others."""
    spread = distribution([float(rank) for rank in range(n, 0, -1)])
    assert spread is not None
    assert (spread.low, spread.high) == (low, high)


def coverage(n: int, rank: int) -> float:
    """How often the median lies within the values of this rank from below and from above, by the binomial."""
    return 1 - sum(comb(n, k) for k in range(rank)) / 2.0 ** (n - 1)


def test_the_interval_of_the_median_covers_it_as_often_as_it_says() -> None:
    """And the next narrower one doesn't, or barely."""
    assert getattr(distribution([1.0] * 5), "low", 0) is None
    for n in range(6, 301):
        spread = distribution([float(rank) for rank in range(1, n + 1)])
        assert spread is not None and spread.low is not None and spread.high is not None
        rank = int(spread.low)
        assert spread.high == n + 1 - rank
        assert coverage(n, rank) >= 0.95 > coverage(n, rank + 1) - 0.0013, n


def test_the_width_of_the_interval_is_half_of_it_over_the_median() -> None:
    spread = distribution([9.0, 9.5, 10.0, 10.0, 10.5, 11.0])
    assert spread is not None
    assert (spread.low, spread.high, spread.interval_percent) == (9.0, 11.0, 10.0)
    zero, short = distribution([0.0] * 6), distribution([1.0] * 5)
    assert zero is not None and short is not None
    assert zero.interval_percent is short.interval_percent is zero.jitter_percent is None


def test_rates_are_totals_over_totals(bench: Any) -> None:
    """A mean of the rates of the steps would say 8 * (10 + 2.5) / 2 = 50."""
    found = figures(bench, bench.case(8, ms=[100.0, 400.0], sequence_length=64))
    assert found.latency_ms.mean == 250.0
    assert found.samples_per_s == pytest.approx(2 * 8 / 0.5)
    assert found.tokens_per_s == pytest.approx(2 * 100 / 0.5)
    assert found.padded_tokens_per_s == pytest.approx(2 * 8 * 64 / 0.5)


def test_padded_tokens_are_counted_where_the_steps_say(bench: Any) -> None:
    columns = {"padded_tokens": [300, 200]}
    found = figures(bench, bench.case(8, ms=[100.0, 400.0], padding="longest", columns=columns))
    assert found.padded_tokens_per_s == pytest.approx(500 / 0.5)
    assert figures(bench, bench.case(8, ms=[1.0], padding="longest")).padded_tokens_per_s is None


def test_a_step_may_handle_more_samples_than_a_batch(bench: Any) -> None:
    energy = Energy(energy_j=40.0, mean_power_w=80.0, source="counter")
    case = bench.case(2, ms=[250.0, 250.0], prepared={"samples_per_step": 10}, end={"energy": energy})
    found = figures(bench, case)
    assert (found.samples_per_step, found.samples_per_s, found.energy_per_sample_j) == (10, 40.0, 2.0)
    assert figures(bench, bench.case(2, ms=[250.0])).samples_per_step == 2


def test_a_generation_has_its_first_token_and_those_after_it(bench: Any) -> None:
    parts = {"prefill": [10.0, 12.0], "decode": [80.0, 88.0]}
    case = bench.case(4, ms=[100.0, 100.0], parts=parts, prepared={"new_tokens": 9})
    found = figures(bench, case)
    assert found.time_to_first_token_ms is not None and found.time_per_output_token_ms is not None
    assert (found.time_to_first_token_ms.mean, found.time_per_output_token_ms.mean) == (11.0, 10.5)
    assert found.new_tokens_per_s == pytest.approx(2 * 4 * 9 / 0.2)


def test_one_new_token_leaves_nothing_to_divide_by(bench: Any) -> None:
    case = bench.case(ms=[1.0], parts={"prefill": [1.0], "decode": [0.0]}, prepared={"new_tokens": 1})
    assert figures(bench, case).time_per_output_token_ms is None


def test_a_task_that_generates_nothing_has_no_such_times(bench: Any) -> None:
    found = figures(bench, bench.case(ms=[1.0], parts={"prefill": [1.0], "decode": [1.0]}))
    assert found.time_to_first_token_ms is found.time_per_output_token_ms is found.new_tokens_per_s is None


@pytest.mark.parametrize(("losses", "last"), [([3.0, 2.0], 2.0), ([3.0, None], None), (None, None)])
def test_the_loss_is_that_of_the_last_step(bench: Any, losses: list[float | None], last: float | None) -> None:
    assert figures(bench, bench.case(ms=[1.0, 1.0], columns={"loss": losses})).loss == last


def test_warm_up_counts_for_the_first_step_alone(bench: Any) -> None:
    found = figures(bench, bench.case(ms=[1.0, 1.0], warmup_ms=[500.0, 2.0]))
    assert (found.latency_ms.most, found.first_step_ms) == (1.0, 500.0)
    assert found.samples_per_s == pytest.approx(1000)
    assert figures(bench, bench.case(ms=[7.0, 1.0])).first_step_ms == 7.0


def test_parts_have_their_own_spread(bench: Any) -> None:
    parts = {"tokenize": [1.0, 3.0], "forward": [8.0, 6.0], "result": []}
    session = bench.session(bench.case(ms=[9.0, 9.0]))
    for part, times in parts.items():
        session.cases[0].measured.parts_ms[part] = times
    found = metrics(session.cases[0])
    assert found is not None and found.device_ms is None
    assert {part: spread.mean for part, spread in found.parts_ms.items()} == {"tokenize": 2.0, "forward": 7.0}


def test_device_time_has_its_own_spread(bench: Any) -> None:
    session = bench.session(bench.case(ms=[9.0, 9.0]))
    session.cases[0].measured.device_ms.extend([4.0, 6.0])
    found = metrics(session.cases[0])
    assert found is not None and found.device_ms is not None
    assert (found.device_ms.mean, found.latency_ms.mean) == (5.0, 9.0)


@pytest.mark.parametrize("tokens", [[], [100]])
def test_tokens_that_not_every_step_has_give_no_rate(bench: Any, tokens: list[int]) -> None:
    session = bench.session(bench.case(ms=[1.0, 1.0]))
    session.cases[0].measured.tokens = type(session.cases[0].measured.tokens)("q", tokens)
    found = metrics(session.cases[0])
    assert found is not None
    assert (found.tokens_per_s, found.padded_tokens_per_s) == (None, None)
    assert found.samples_per_s == pytest.approx(1000)


def test_steps_of_no_time_give_no_rate(bench: Any) -> None:
    found = figures(bench, bench.case(ms=[0.0, 0.0]))
    assert (found.samples_per_s, found.tokens_per_s, found.latency_ms.mean) == (None, None, 0.0)


def test_energy_is_shared_among_the_samples(bench: Any) -> None:
    energy = Energy(energy_j=40.0, mean_power_w=80.0, source="counter")
    found = figures(bench, bench.case(10, ms=[250.0, 250.0], end={"energy": energy}))
    assert (found.energy_per_sample_j, found.mean_power_w) == (2.0, 80.0)


@pytest.mark.parametrize("energy", [None, Energy(absent="no counter")])
def test_energy_that_was_not_read_is_missing(bench: Any, energy: Energy | None) -> None:
    found = figures(bench, bench.case(ms=[1.0], end={"energy": energy}))
    assert (found.energy_per_sample_j, found.mean_power_w) == (None, None)


def test_a_running_case_has_figures_already(bench: Any) -> None:
    assert figures(bench, bench.case(ms=[2.0], outcome=None)).latency_ms.n == 1


@pytest.mark.parametrize("outcome", [None, "ok", "skipped"])
def test_without_steps_there_are_no_figures(bench: Any, outcome: str | None) -> None:
    assert metrics(bench.session(bench.case(outcome=outcome)).cases[0]) is None
    assert metrics(bench.session(bench.case(outcome=outcome, warmup_ms=[1.0])).cases[0]) is None


def test_reported_figures_stand_in_where_no_steps_were_kept(bench: Any) -> None:
    reported = Reported(
        steps=20, latency_mean_ms=15.5, samples_per_s=514.7, tokens_per_s=9.0, mean_power_w=70.0
    )
    found = figures(bench, bench.case(8, end={"reported": reported}))
    assert (found.latency_ms.n, found.latency_ms.mean, found.latency_ms.median) == (20, 15.5, None)
    assert (found.samples_per_s, found.tokens_per_s, found.mean_power_w) == (514.7, 9.0, 70.0)
    assert (found.first_step_ms, found.energy_per_sample_j, found.latency_ms.interval_percent) == (
        None,
        None,
        None,
    )


def test_own_steps_go_before_reported_figures(bench: Any) -> None:
    found = figures(bench, bench.case(ms=[2.0], end={"reported": Reported(latency_mean_ms=99.0)}))
    assert found.latency_ms.mean == 2.0


def test_a_report_without_a_latency_gives_no_figures(bench: Any) -> None:
    assert metrics(bench.session(bench.case(end={"reported": Reported(samples_per_s=5.0)})).cases[0]) is None


def test_rounds_have_their_medians_and_the_range_between_them(bench: Any) -> None:
    (one,) = bench.results(bench.case(1, rounds=[[10.0, 10.2, 10.4], [9.0, 10.0, 11.0], [10.3, 10.3, 10.3]]))
    assert one.metrics.rounds_ms == (10.2, 10.0, 10.3)
    assert one.metrics.rounds_least_ms == (10.0, 9.0, 10.3)
    assert one.metrics.between_rounds_percent == pytest.approx(100 * 0.3 / 10.3)
    (single,) = bench.results(bench.case(1, 10.0))
    assert (single.metrics.rounds_ms, single.metrics.between_rounds_percent) == ((), None)


def test_outliers_are_told_and_stay_in_the_figures(bench: Any) -> None:
    (one,) = bench.results(bench.case(1, [10.0] * 29 + [300.0]))
    assert one.metrics.outliers == (29,)
    assert one.metrics.latency_ms.most == 300.0

import random
from math import exp, fsum, log, sqrt
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, RoundFinished, Steps
from benchtui.sessions.payloads import Compiling, Energy, Reported, RequestTimes
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.stats.case_metrics import Metrics, metrics
from benchtui.sessions.stats.distribution import distribution, sample
from benchtui.sessions.stats.sampling import Sample, Statistic, interval


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


def test_two_values_have_a_deviation() -> None:
    two = distribution([0.0, 1.0])
    assert two is not None and two.std == pytest.approx(sqrt(0.5))


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


@pytest.mark.parametrize("n", [5, 6, 20, 100, 1000])
def test_the_interval_of_the_median_is_the_one_that_verdicts_use(n: int) -> None:
    times_ms = [10.0 + place**0.5 for place in range(n)]  # in ascending order: very autocorrelated
    spread, of_round = distribution(times_ms), sample(times_ms)
    assert spread is not None and of_round is not None
    bounds = interval([of_round.median])
    assert (spread.low, spread.high) == ((bounds.low, bounds.high) if bounds else (None, None))
    assert (spread.low is None) == (n < 6)


def test_the_interval_of_neighbors_that_resemble_each_other_is_wider() -> None:
    times_ms = [10.0 + place / 100 for place in range(100)]
    near, mixed = distribution(times_ms), distribution(random.Random(1).sample(times_ms, 100))
    assert near is not None and mixed is not None
    assert (near.interval_percent or 0) > 2 * (mixed.interval_percent or 9)


def test_the_width_of_the_interval_is_half_of_it_over_the_median() -> None:
    spread = distribution([9.0, 9.5, 10.0, 10.0, 10.5, 11.0])
    assert spread is not None
    assert spread.low is not None and spread.high is not None
    assert spread.interval_percent == pytest.approx(5 * (spread.high - spread.low))
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
    two = bench.case(ms=[5.0], parts={"prefill": [1.0], "decode": [4.0]}, prepared={"new_tokens": 2})
    spread = figures(bench, two).time_per_output_token_ms
    assert spread is not None and spread.mean == 4.0


def test_a_task_that_generates_nothing_has_no_such_times(bench: Any) -> None:
    found = figures(bench, bench.case(ms=[1.0], parts={"prefill": [1.0], "decode": [1.0]}))
    assert found.time_to_first_token_ms is found.time_per_output_token_ms is found.new_tokens_per_s is None


@pytest.mark.parametrize(
    ("losses", "last"),
    [([5.0, 3.0, 2.0], 2.0), ([5.0, 3.0, None], None), ([5.0, None, 2.0], 2.0), (None, None)],
)
def test_the_loss_is_that_of_the_last_step(bench: Any, losses: list[float | None], last: float | None) -> None:
    assert figures(bench, bench.case(ms=[1.0] * 3, columns={"loss": losses})).loss == last


def test_warm_up_counts_for_the_first_step_alone(bench: Any) -> None:
    found = figures(bench, bench.case(ms=[1.0, 1.0], warmup_ms=[500.0, 2.0]))
    assert (found.latency_ms.most, found.first_step_ms) == (1.0, 500.0)
    assert found.samples_per_s == pytest.approx(1000)
    assert figures(bench, bench.case(ms=[7.0, 1.0])).first_step_ms == 7.0


def test_the_cold_cost_is_what_the_first_step_takes_beyond_a_steady_one(bench: Any) -> None:
    assert figures(bench, bench.case(ms=[1.0, 3.0], warmup_ms=[500.0, 2.0])).cold_cost_ms == 498.0
    assert figures(bench, bench.case(ms=[1.0, 3.0])).cold_cost_ms == 0.0


def test_cold_cost_includes_every_warmup_step_that_compiled(bench: Any) -> None:
    compiling = Compiling(graphs=2, graph_breaks=0, recompiles=0, cold=(0, 2, 9), unsteady=(1,))
    case = bench.case(ms=[1.0, 3.0], warmup_ms=[500.0, 7.0, 300.0, 2.0], end={"compiling": compiling})
    found = figures(bench, case)
    assert (found.first_step_ms, found.cold_cost_ms) == (500.0, 498.0 + 298.0)
    without_warmup = bench.case(ms=[400.0, 300.0, 1.0, 3.0, 2.0], end={"compiling": compiling})
    assert figures(bench, without_warmup).cold_cost_ms == 397.0 + 297.0


def test_cold_cost_of_several_rounds_is_that_of_the_first(bench: Any) -> None:
    early, late = (Compiling(graphs=2, graph_breaks=0, recompiles=0, cold=cold) for cold in ((0, 1), (0,)))
    session = bench.session(bench.case(outcome=None))
    for round_index, warmup_ms in enumerate(([500.0, 300.0], [90.0, 80.0])):
        session.apply(Steps(t=0.0, case=0, round=round_index, phase="warmup", wall_ms=warmup_ms))
        session.apply(Steps(t=0.0, case=0, round=round_index, phase="measure", wall_ms=[1.0, 3.0]))
        if not round_index:
            session.apply(RoundFinished(t=0.0, case=0, round=0, compiling=early))
    session.apply(CaseFinished(t=0.0, case=0, outcome="ok", compiling=late))
    found = metrics(session.cases[0])
    assert found is not None and found.cold_cost_ms == 498.0 + 298.0


def test_figures_that_were_summed_up_before_are_those(bench: Any) -> None:
    (case,) = bench.session(bench.case(ms=[1.0, 3.0])).cases
    found = metrics(case)
    case.metrics = found
    case.drop_steps()
    assert metrics(case) is found


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
    assert found.host_ms is found.wait_mean_ms is None


def test_the_host_waits_for_what_its_own_time_leaves_of_a_step(bench: Any) -> None:
    found = figures(bench, bench.case(ms=[9.0, 9.0], columns={"host_ms": [2.0, 4.0]}))
    assert found.host_ms is not None and found.host_ms.mean == 3.0
    assert found.wait_mean_ms == 6.0
    busy = figures(bench, bench.case(ms=[9.0, 9.0], columns={"host_ms": [9.0, 9.5]}))
    assert busy.wait_mean_ms == 0.0


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
    assert found.energy_per_sample_j == pytest.approx(70 / 514.7)
    assert found.first_step_ms is found.cold_cost_ms is found.latency_ms.interval_percent is None
    assert found.samples_per_s_low is found.samples_per_s_high is None
    assert (found.rounds_ms, found.between_rounds_percent, found.rounds_energy_j) == ((), None, ())
    assert found.rounds == (Sample(n=20, median=Statistic(15.5), low=None, mean=Statistic(15.5)),)


@pytest.mark.parametrize(
    ("n", "percentiles"),
    [
        (None, (None, None, None)),
        (19, (None, None, None)),
        (20, (2.0, None, None)),
        (39, (2.0, None, None)),
        (40, (2.0, 3.0, None)),
        (99, (2.0, 3.0, None)),
        (100, (2.0, 3.0, 4.0)),
    ],
)
def test_reported_percentiles_need_their_number_of_steps_too(
    n: int | None, percentiles: tuple[float | None, ...], bench: Any
) -> None:
    reported = Reported(
        steps=n,
        latency_mean_ms=1.2,
        latency_median_ms=1.0,
        latency_std_ms=0.3,
        latency_p90_ms=2.0,
        latency_p95_ms=3.0,
        latency_p99_ms=4.0,
    )
    found = figures(bench, bench.case(8, end={"reported": reported})).latency_ms
    assert (found.n, found.mean, found.median, found.std) == (n or 0, 1.2, 1.0, 0.3)
    assert (found.p90, found.p95, found.p99) == percentiles


def test_energy_of_a_source_without_a_rate_or_a_power_is_missing(bench: Any) -> None:
    for known in ({"samples_per_s": 5.0}, {"mean_power_w": 70.0}):
        reported = Reported(latency_mean_ms=1.0, **known)
        assert figures(bench, bench.case(end={"reported": reported})).energy_per_sample_j is None


def test_repeats_of_a_source_are_its_rounds(bench: Any) -> None:
    reported = Reported(latency_mean_ms=10.0, repeats_mean_ms=(9.0, 11.0, 10.0))
    found = figures(bench, bench.case(end={"reported": reported}))
    assert found.rounds_ms == (9.0, 11.0, 10.0) == tuple(each.median.ms for each in found.rounds)
    assert found.between_rounds_percent == pytest.approx(20.0)


def test_own_steps_go_before_reported_figures(bench: Any) -> None:
    found = figures(bench, bench.case(ms=[2.0], end={"reported": Reported(latency_mean_ms=99.0)}))
    assert found.latency_ms.mean == 2.0


def test_a_report_without_a_latency_gives_no_figures(bench: Any) -> None:
    assert metrics(bench.session(bench.case(end={"reported": Reported(samples_per_s=5.0)})).cases[0]) is None


def test_rounds_have_their_medians_and_the_range_between_them(bench: Any) -> None:
    rounds = [[10.0, 10.2, 10.4], [9.0, 10.0, 11.0], [10.3, 10.3, 10.3]]
    found = figures(bench, bench.case(1, rounds=rounds))
    assert found.rounds_ms == (10.2, 10.0, 10.3)
    assert found.rounds == tuple(sample(times) for times in rounds)
    assert found.between_rounds_percent == pytest.approx(100 * 0.3 / 10.3)
    single = figures(bench, bench.case(1, ms=[1.0, 2.0]))
    assert (single.rounds_ms, single.between_rounds_percent) == ((), None)
    assert single.rounds == (sample([1.0, 2.0]),)


def by_student(middle: float, figures: list[float], t: float) -> tuple[float, float]:
    """A 95% interval by the spread of the logarithms of rounds."""
    logs = [log(each) for each in figures]
    mean = fsum(logs) / len(logs)
    error = sqrt(sum((each - mean) ** 2 for each in logs) / (len(logs) - 1) / len(logs))
    return min(middle, exp(mean - t * error)), max(middle, exp(mean + t * error))


def test_from_three_rounds_on_the_interval_of_the_median_is_that_of_the_rounds(bench: Any) -> None:
    rounds = [[10.0] * 20, [11.0] * 20, [12.0] * 20]
    found = figures(bench, bench.case(1, rounds=rounds)).latency_ms
    assert (found.low, found.high) == pytest.approx(by_student(11.0, [10.0, 11.0, 12.0], 4.302653))
    alone = distribution([time for times in rounds for time in times])
    assert alone is not None and alone.low is not None
    assert found.low is not None and found.low < 9 < alone.low  # steps of a round aren't independent


def test_two_rounds_are_covered_by_the_intervals_of_both(bench: Any) -> None:
    found = figures(bench, bench.case(1, rounds=[[10.0] * 6, [12.0] * 6])).latency_ms
    assert (found.low, found.high) == pytest.approx((10.0, 12.0))
    assert figures(bench, bench.case(1, rounds=[[9.0] * 6, [12.0] * 90])).rounds_ms == (9.0, 12.0)
    uneven = figures(bench, bench.case(1, rounds=[[9.0] * 6, [12.0] * 90])).latency_ms
    assert (uneven.low, uneven.high) == pytest.approx((9.0, 12.0))
    short = figures(bench, bench.case(1, rounds=[[10.0] * 5, [12.0] * 5])).latency_ms
    assert (short.low, short.high) == (None, None), "a verdict has none either"


def test_one_round_has_the_interval_of_its_steps(bench: Any) -> None:
    times_ms = [float(rank) for rank in range(20, 0, -1)]
    found, alone = figures(bench, bench.case(1, ms=times_ms)).latency_ms, distribution(times_ms)
    assert found == alone and found.low is not None


def test_an_interval_over_rounds_holds_the_median_of_all_steps(bench: Any) -> None:
    found = figures(bench, bench.case(1, rounds=[[10.0] * 6, [10.01] * 6, [10.0] * 6, [20.0] * 90])).latency_ms
    assert found.median == 20.0
    assert found.low is not None and found.low < 10 < 20 < (found.high or 0)
    agreeing = [sample([10.0] * 6)] * 3
    above, below = distribution([11.0] * 6), distribution([9.0] * 6)
    assert above is not None and below is not None
    for spread, ends in ((above, (10.0, 11.0)), (below, (9.0, 10.0))):
        held = spread.with_rounds([each.median for each in agreeing if each])
        assert (held.low, held.high) == pytest.approx(ends)


def test_without_a_median_or_times_there_is_no_interval(bench: Any) -> None:
    reported = figures(bench, bench.case(end={"reported": Reported(latency_mean_ms=9.0)})).latency_ms
    assert reported.with_rounds([Statistic(10.0, 0.1)] * 3) == reported
    zero = distribution([0.0] * 6)
    assert zero is not None and zero.with_rounds([Statistic(0.0)] * 3).low is zero.low is None


def test_the_interval_of_a_rate_is_that_of_the_mean_step(bench: Any) -> None:
    times_ms = [9.0, 11.0] * 10  # the error of the mean: sqrt(20 / 19) / 10 / sqrt(20)
    found = figures(bench, bench.case(4, ms=times_ms))
    half = 1.959964 * sqrt(20 / 19) / 10 / sqrt(20)
    assert found.samples_per_s == pytest.approx(400)
    assert (found.samples_per_s_low, found.samples_per_s_high) == pytest.approx(
        (400 * exp(-half), 400 * exp(half))
    )


def test_short_steps_have_a_rate_with_its_interval_too(bench: Any) -> None:
    found = figures(bench, bench.case(1, ms=[0.25] * 6))
    assert (found.samples_per_s_low, found.samples_per_s_high) == pytest.approx((4000, 4000))


def test_the_interval_of_a_rate_over_rounds_holds_the_rate(bench: Any) -> None:
    found = figures(bench, bench.case(2, rounds=[[10.0] * 6, [11.0] * 6, [12.0] * 6]))
    assert found.samples_per_s == pytest.approx(2000 / 11)
    rates = [2000 / 10, 2000 / 11, 2000 / 12]
    assert (found.samples_per_s_low, found.samples_per_s_high) == pytest.approx(
        by_student(2000 / 11, rates, 4.302653)
    )
    uneven = figures(
        bench, bench.case(1, rounds=[[10.0] * 6, [10.0] * 6, [10.01] * 6, [10.01] * 6, [40.0] * 999])
    )
    rate, low, high = uneven.samples_per_s, uneven.samples_per_s_low, uneven.samples_per_s_high
    assert rate is not None and low is not None and high is not None
    assert low == rate < high, "the round with most steps lies outside of what five rounds show"
    fast = figures(
        bench, bench.case(1, rounds=[[40.0] * 6, [40.0] * 6, [40.01] * 6, [40.01] * 6, [10.0] * 999])
    )
    assert fast.samples_per_s_high == fast.samples_per_s != fast.samples_per_s_low


@pytest.mark.parametrize(
    "case",
    [
        {"ms": [10.0] * 5},
        {"rounds": [[10.0] * 6, [10.0] * 5]},
        {"ms": [0.0] * 6},
        {"ms": [10.0] * 6, "prepared": {"samples_per_step": 0}},
    ],
)
def test_without_enough_steps_or_samples_a_rate_has_no_interval(case: dict[str, Any], bench: Any) -> None:
    found = figures(bench, bench.case(1, **case))
    assert found.samples_per_s_low is found.samples_per_s_high is None


def test_a_step_without_samples_has_no_rate(bench: Any) -> None:
    energy = Energy(energy_j=40.0, source="counter")
    found = figures(bench, bench.case(ms=[10.0] * 6, prepared={"samples_per_step": 0}, end={"energy": energy}))
    assert found.samples_per_s is found.energy_per_sample_j is None


def with_energy(bench: Any, joules: list[float | None], steps: list[int], **options: Any) -> Metrics:
    """A case of rounds by their energy and steps; the last joules are those of all rounds."""
    *before, whole = joules
    more = [
        RoundFinished(t=0.0, case=0, round=turn, energy=None if each is None else Energy(energy_j=each))
        for turn, each in enumerate(before)
    ]
    end = {"energy": None if whole is None else Energy(energy_j=whole)}
    case = bench.case(2, rounds=[[10.0] * n for n in steps], end=end, **options)
    found = metrics(bench.session(case, more=more).cases[0])
    assert found is not None
    return found


def test_each_round_has_its_energy_and_the_last_what_is_left_of_the_whole(bench: Any) -> None:
    found = with_energy(bench, [12.0, 12.0, 48.0], [6, 3, 4])
    assert found.rounds_energy_j == (1.0, 2.0, 3.0)
    assert found.energy_per_sample_j == pytest.approx(48 / 26)
    assert (found.energy_per_sample_low_j, found.energy_per_sample_high_j) == pytest.approx(
        by_student(2.0, [1.0, 2.0, 3.0], 4.302653)
    )
    two = with_energy(bench, [12.0, 24.0], [6, 6])
    assert two.rounds_energy_j == (1.0, 1.0)
    assert two.energy_per_sample_low_j is two.energy_per_sample_high_j is None


@pytest.mark.parametrize(
    ("joules", "steps"),
    [
        ([48.0], [6]),
        ([12.0, None], [6, 6]),
        ([None, 24.0], [6, 6]),
        ([12.0, None, 48.0], [6, 6, 6]),
        ([12.0, 12.0], [6, 6]),
        ([12.0, 11.0], [6, 6]),
        ([0.0, 24.0], [6, 6]),
        ([12.0, 12.0, 48.0], [6, 6]),
    ],
)
def test_energy_that_not_every_round_has_is_not_shared_among_them(
    joules: list[float | None], steps: list[int], bench: Any
) -> None:
    assert with_energy(bench, joules, steps).rounds_energy_j == ()


def test_rounds_without_samples_or_energy_at_all_have_none(bench: Any) -> None:
    none = with_energy(bench, [12.0, 24.0], [6, 6], prepared={"samples_per_step": 0}, ms=[10.0])
    assert none.rounds_energy_j == ()
    one = with_energy(bench, [0.5, 0.9], [6, 3])
    assert one.rounds_energy_j == pytest.approx((0.5 / 12, 0.4 / 6)), "less than a joule is energy too"


def test_outliers_are_told_and_stay_in_the_figures(bench: Any) -> None:
    (one,) = bench.results(bench.case(1, [10.0] * 29 + [300.0]))
    assert one.metrics.outliers == (29,)
    assert one.metrics.latency_ms.most == 300.0


# --- requests, and other tasks' samples


def requests_of(first_ms: float, gap_ms: float, count: int) -> RequestTimes:
    times = [first_ms + place for place in range(count)]
    return RequestTimes(
        first_token_ms=times, between_tokens_ms=[gap_ms] * count, request_ms=[time + 50 for time in times]
    )


def test_times_of_requests_are_pooled_over_steps(bench: Any) -> None:
    steps = [requests_of(10.0, 2.0, 50), requests_of(60.0, 4.0, 50)]
    made = bench.case(
        50, [100.0, 100.0], columns={"requests": steps}, prepared={"task": "serve-batch", "new_tokens": 2}
    )
    found = figures(bench, made)
    assert found.time_to_first_token_ms == distribution([10.0 + place for place in range(100)])
    assert found.time_per_output_token_ms == distribution([2.0] * 50 + [4.0] * 50)
    assert found.request_ms is not None
    assert (found.request_ms.n, found.request_ms.median) == (100, 60.0 + 49.5)
    assert found.prompt_tokens_per_s is None
    assert found.task.unit == "requests/s"


def test_requests_of_a_repeated_round_are_dropped(bench: Any) -> None:
    columns = Columns()
    for turn in (0, 1):
        event = Steps(
            t=1.0,
            case=0,
            phase="measure",
            round=turn,
            wall_ms=[1.0],
            requests=[requests_of(1.0, 1.0, 1 + turn)],
        )
        columns.extend(event)
    whole = columns.copy()
    columns.drop_from_round(1)
    assert [len(each.request_ms) for each in columns.requests] == [1]
    assert len(whole.requests) == 2


def test_event_whose_requests_are_not_as_many_as_its_steps_is_refused() -> None:
    event = Steps(t=1.0, case=0, phase="measure", wall_ms=[1.0, 2.0], requests=[requests_of(1.0, 1.0, 1)])
    with pytest.raises(BenchtuiError, match="columns differ in length"):
        Columns().extend(event)


def test_case_without_a_sequence_length_has_no_tokens_of_padding(bench: Any) -> None:
    found = figures(bench, bench.case(2, 10.0, sequence_length=0, prepared={"task": "speech"}))
    assert found.padded_tokens_per_s is None
    assert found.task.unit == "audio-s/s"

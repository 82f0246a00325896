from typing import Any

import pytest

from benchtui.sessions.compare import (
    Ratio,
    Verdict,
    baseline_of,
    break_even_steps,
    cold_cost_ms,
    comparison,
    pairs,
)
from benchtui.sessions.facts import Reported
from benchtui.sessions.sweep import Baseline


def test_ratio_is_above_one_for_the_faster_case_and_its_bounds_span_both_ranges(bench: Any) -> None:
    slow, fast = bench.results(bench.case(ms=20.0), bench.case(batch_size=2, ms=10.0))
    latency = comparison(slow, fast).latency
    (slow_low, slow_high), (fast_low, fast_high) = slow.range_ms, fast.range_ms
    assert slow_low == min(slow.case.measured.wall_ms)
    assert latency is not None
    assert latency.value == pytest.approx(2.0)
    assert (latency.low, latency.high) == pytest.approx((slow_low / fast_high, slow_high / fast_low))
    assert latency.verdict is Verdict.FASTER


def test_throughput_counts_the_samples_of_a_step(bench: Any) -> None:
    one, four = bench.results(bench.case(ms=10.0), bench.case(batch_size=4, ms=20.0))
    throughput = comparison(one, four).throughput
    assert throughput is not None
    assert throughput.value == pytest.approx(2.0)
    assert throughput.low is not None
    assert 1.9 < throughput.low < 2.0


def test_throughput_counts_what_the_task_says_is_in_a_step(bench: Any) -> None:
    one, four = bench.results(
        bench.case(ms=10.0, prepared={"samples_per_step": 8}),
        bench.case(batch_size=4, ms=20.0, prepared={"samples_per_step": 8}),
    )
    throughput = comparison(one, four).throughput
    assert throughput is not None and throughput.high is not None
    assert throughput.value == pytest.approx(0.5)
    assert 0.5 < throughput.high < 0.53


def test_throughput_interval_holds_the_ratio_even_where_an_outlier_moves_the_mean(bench: Any) -> None:
    steady, disturbed = bench.results(bench.case(ms=10.0), bench.case(batch_size=2, ms=[20.0] * 30 + [900.0]))
    throughput = comparison(steady, disturbed).throughput
    assert throughput is not None
    assert throughput.low == throughput.value < 0.5
    assert throughput.verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.006, 1.2, Verdict.FASTER),
        (1.004, 1.2, Verdict.SAME),
        (0.8, 0.996, Verdict.SAME),
        (0.8, 0.994, Verdict.SLOWER),
        (0.9, 1.1, Verdict.SAME),
        (None, None, Verdict.UNSURE),
    ],
)
def test_verdict_needs_intervals_half_a_percent_apart(
    low: float | None, high: float | None, verdict: Verdict
) -> None:
    assert Ratio(1.0, low, high).verdict is verdict


def test_without_spread_the_means_are_compared_and_nothing_is_claimed(bench: Any) -> None:
    ends = [
        {"reported": Reported(steps=20, latency_mean_ms=ms, samples_per_s=1000 / ms)} for ms in (20.0, 10.0)
    ]
    slow, fast = bench.results(*(bench.case(batch_size=size, end=end) for size, end in enumerate(ends, 1)))
    found = comparison(slow, fast)
    assert found.latency == Ratio(2.0)
    assert found.throughput == Ratio(2.0)
    assert found.latency.verdict is Verdict.UNSURE


def test_cases_whose_fastest_three_quarters_overlap_are_the_same(bench: Any) -> None:
    base, later, slower = bench.results(
        bench.case(1, [10.0] * 20 + [10.2] * 10),
        bench.case(2, [10.2] * 20 + [10.6] * 10),
        bench.case(3, [10.4] * 20 + [10.6] * 10),
    )
    ratios = [comparison(base, new).latency for new in (later, slower)]
    assert [ratio and ratio.verdict for ratio in ratios] == [Verdict.SAME, Verdict.SLOWER]


def rounds(*fastest_ms: float) -> list[list[float]]:
    """Rounds of steps that begin at these times and go far up."""
    return [[least * (1 + 0.1 * step) for step in range(10)] for least in fastest_ms]


def test_from_three_rounds_on_their_spread_decides(bench: Any) -> None:
    base, same, slower = bench.results(
        bench.case(1, rounds=rounds(10.0, 10.1, 10.05)),
        bench.case(2, rounds=rounds(10.1, 10.05, 10.2)),
        bench.case(3, rounds=rounds(10.3, 10.4, 10.35)),
    )
    ratios = [comparison(base, new).latency for new in (same, slower)]
    assert [ratio and ratio.verdict for ratio in ratios] == [Verdict.SAME, Verdict.SLOWER]
    two = (rounds(10.0, 10.05), rounds(10.3, 10.35))
    by_steps = comparison(*bench.results(*(bench.case(size, rounds=each) for size, each in enumerate(two, 1))))
    assert by_steps.latency is not None and by_steps.latency.verdict is Verdict.SAME


def test_more_rounds_tell_smaller_differences_and_one_odd_round_is_no_matter(bench: Any) -> None:
    noise = (1.0, 1.02, 0.99, 1.015, 1.005, 0.995, 1.01, 1.0, 1.025, 0.985)
    slower = [1.03 * each for each in noise[1:]] + [1.0]
    found = [
        comparison(
            *bench.results(
                bench.case(1, rounds=rounds(*(10 * each for each in noise[:amount]))),
                bench.case(2, rounds=rounds(*(10 * each for each in slower[:amount]))),
            )
        ).latency
        for amount in (3, 10)
    ]
    assert [ratio and ratio.verdict for ratio in found] == [Verdict.SAME, Verdict.SLOWER]
    assert found[1] is not None and found[1].low is not None and found[1].high is not None
    assert 0.94 < found[1].low < 1 / 1.03 < found[1].high < 0.995


def test_the_interval_over_rounds_is_the_one_of_the_tables(bench: Any) -> None:
    """Hollander and Wolfe's rank for 5 against 5 at 95%: the third smallest and third largest of 25 ratios."""
    base, new = (1.0, 2.0, 3.0, 4.0, 5.0), (10.0, 20.0, 30.0, 40.0, 50.0)
    pair = bench.results(bench.case(1, rounds=rounds(*base)), bench.case(2, rounds=rounds(*new)))
    ratios = sorted(one / other for one in base for other in new)
    found = comparison(*pair).latency
    assert found is not None
    assert (found.low, found.high) == pytest.approx((ratios[2], ratios[-3]))


def test_a_difference_that_the_rounds_do_not_confirm_is_not_sure(bench: Any) -> None:
    torn = [[10.0] * 10, [10.0] * 10, [12.0] * 2]
    above = [[10.5] * 10] * 3
    found = comparison(*bench.results(bench.case(1, rounds=torn), bench.case(2, rounds=above))).latency
    assert found is not None
    assert (found.contested, found.verdict) == (True, Verdict.UNSURE)


def test_times_of_zero_have_no_ratio(bench: Any) -> None:
    slow, none = bench.results(bench.case(ms=10.0), bench.case(batch_size=2, ms=[0.0] * 30))
    assert comparison(slow, none).latency is None
    assert comparison(slow, none).throughput is None


def test_pairs_differ_in_the_option_alone(bench: Any) -> None:
    results = bench.results(
        bench.case(1, 10.0),
        bench.case(2, 18.0),
        bench.case(1, 6.0, precision="bf16"),
        bench.case(1, 5.0, precision="bf16", compile="default"),
    )
    found = pairs(results, "precision", "fp32")
    assert [(pair.base, pair.new) for pair in found] == [(results[0], results[2])]


def test_compiling_breaks_even_once_the_first_step_is_repaid(bench: Any) -> None:
    eager, compiled, slower = bench.results(
        bench.case(1, 10.0),
        bench.case(1, 8.0, compile="default", warmup_ms=[1008.0, 8.0]),
        bench.case(1, 12.0, compile="reduce-overhead", warmup_ms=[1008.0, 12.0]),
    )
    assert cold_cost_ms(compiled) == pytest.approx(1000.0)
    assert break_even_steps(comparison(eager, compiled)) == 500
    assert break_even_steps(comparison(eager, slower)) is None


def test_baseline_is_the_matching_case_that_shares_most_other_options(bench: Any) -> None:
    results = bench.results(
        bench.case(1, 10.0, sequence_length=32),
        bench.case(1, 30.0, sequence_length=128),
        bench.case(4, 80.0, sequence_length=128),
    )
    assert baseline_of(results[2], results, Baseline(batch_size=1)) is results[1]
    assert baseline_of(results[2], results, None) is results[0]
    assert baseline_of(results[2], results, Baseline(batch_size=64)) is None

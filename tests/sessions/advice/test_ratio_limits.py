import random
from itertools import permutations
from math import log
from typing import Any

import numpy as np
import pytest

from benchtui.sessions.advice.ratio_limits import Kind, Limits, RatioLimits
from benchtui.sessions.payloads import Environment, Memory
from benchtui.sessions.stats.ratios import latency_ratio, memory_ratio, throughput_ratio
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.stats.verdicts import MIN_EFFECT, Ratio, Verdict

EXACT = {"latency": latency_ratio, "throughput": throughput_ratio, "memory": memory_ratio}


def results(bench: Any, seed: int, rounds: tuple[int, ...]) -> tuple[Result, ...]:
    """Cases with these numbers of rounds, disturbed and clocked by chance."""
    chance = random.Random(seed)
    cases = (
        bench.case(
            chance.choice((1, 4, 8)),
            threads=index + 1,
            rounds=[
                [10.0 * chance.choice((1.0, 1.02, 1.5)) * chance.lognormvariate(0, 0.05) for _ in range(30)]
                for _ in range(amount)
            ],
            end={
                "environment": Environment(
                    others_cpu_percent=chance.choice((0.0, 150.0)),
                    sm_clock_mhz=chance.choice((1900.0, 1200.0)),
                    memory_clock_mhz=chance.choice((None, 3000.0)),
                ),
                "memory": Memory(peak_rss_mb=chance.choice((500.0, 700.0))),
            },
        )
        for index, amount in enumerate(rounds)
    )
    return measured(bench.session(*cases))


def pairwise_limits(found: tuple[Result, ...], kind: Kind) -> dict[tuple[int, int], Limits]:
    """Limits of each pair of cases, computed for all at once."""
    places = list(permutations(range(len(found)), 2))
    known = RatioLimits(found).product([kind], *([found[pair[side]] for pair in places] for side in (0, 1)))
    return {pair: Limits(*(each[at] for each in known)) for at, pair in enumerate(places)}


@pytest.mark.parametrize("kind", ["latency", "throughput", "memory"])
@pytest.mark.parametrize("rounds", [(1, 1, 1, 1), (3, 3, 5), (1, 4, 2, 3)])
@pytest.mark.parametrize("seed", range(5))
def test_no_bounds_of_a_ratio_exceed_its_limits(
    bench: Any, seed: int, rounds: tuple[int, ...], kind: Kind
) -> None:
    found = results(bench, seed, rounds)
    for (base, new), limits in pairwise_limits(found, kind).items():
        full = EXACT[kind](found[base], found[new])
        assert full is not None and full.bounds is not None
        assert limits.value == pytest.approx(log(full.value), abs=1e-12)
        for each in filter(None, (full.bounds, full.fast, full.totals)):
            assert limits.low <= log(each.sure_low) + 1e-12 and log(each.sure_high) - 1e-12 <= limits.high
        assert log(full.bounds.sure_low) <= limits.most_low


@pytest.mark.parametrize("rounds", [(1, 1, 1, 1), (3, 3, 5), (1, 4, 2, 3)])
def test_a_verdict_by_limits_is_the_exact_one(bench: Any, rounds: tuple[int, ...]) -> None:
    """Most verdicts follow from the limits, and none is another one."""
    told = all_pairs = settled = pairs = 0
    for seed in range(30):
        found = results(bench, seed, rounds)
        for (base, new), limits in pairwise_limits(found, "throughput").items():
            exact = throughput_ratio(found[base], found[new])
            assert exact is not None
            (word,) = Limits(*(each.reshape(1) for each in limits)).verdicts()
            assert word in (None, exact.verdict)
            assert not (limits.not_faster and exact.verdict is Verdict.FASTER)
            assert not limits.unsure(exact.same_within) or exact.verdict is Verdict.UNSURE
            settled += bool(limits.not_faster or limits.faster)
            pairs += 1
            told += word is not None
            all_pairs += exact.verdict in (Verdict.FASTER, Verdict.SLOWER)
    assert all_pairs > 20 and told > 0.5 * all_pairs
    assert settled > 0.9 * pairs


def test_no_verdict_follows_for_cases_with_other_files(bench: Any) -> None:
    mark = "changed: a.py (11111111; in case 1, 00000000)"
    slow, fast, changed = bench.results(
        bench.steady(1, 90.0), bench.steady(1, 10.0, threads=2), bench.steady(1, 5.0, end={"marks": (mark,)})
    )
    known = RatioLimits((slow, fast, changed)).product(
        ["latency"], [slow, slow, changed], [fast, changed, fast]
    )
    assert known.verdicts() == [Verdict.FASTER, None, None]


def test_a_product_has_the_limits_of_its_factors(bench: Any) -> None:
    found = results(bench, 1, (1, 1))
    limits, (step, memory) = RatioLimits(found), (latency_ratio(*found), memory_ratio(*found))
    assert isinstance(step, Ratio) and isinstance(memory, Ratio)
    product = limits.product(["latency", "memory"], found[:1], found[1:])
    assert product.value.tolist() == [pytest.approx(log(step.value * memory.value))]


def test_one_case_is_compared_with_many(bench: Any) -> None:
    found = results(bench, 2, (1, 1, 1))
    limits = RatioLimits(found)
    assert len(limits.product(["latency"], found[:1], found).value) == 3
    assert len(limits.product(["latency"], found, found[:1]).value) == 3


def test_a_ratio_without_an_interval_has_no_limits(bench: Any) -> None:
    found = measured(bench.session(bench.case(1, [1.0, 1.1]), bench.case(2, [1.0, 1.2])))
    limits = RatioLimits(found).product(["latency"], found[:1], found[1:])
    assert limits.verdicts() == [None] and not limits.not_faster.any()


def test_a_ratio_just_beyond_the_least_effect_is_left_to_the_exact_one() -> None:
    least = np.array([log(1 + MIN_EFFECT)])
    assert Limits(least, least, least, least).verdicts() == [None]
    assert not Limits(least, least, least, least).not_faster.any()
    assert Limits(least, least + 1e-8, least, least).verdicts() == [Verdict.FASTER]
    assert Limits(least, -least, -least - 1e-8, least).verdicts() == [Verdict.SLOWER]

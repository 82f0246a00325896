import random
from math import exp, log
from typing import Any
from unittest import mock

import pytest

from benchtui.sessions.advice.ratio_limits import RatioLimits
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.overview.effect_pairs import effect_pairs, extremes
from benchtui.sessions.report.overview.option_effects import Effect, Recommended
from benchtui.sessions.stats import ratios
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.stats.verdicts import Verdict


def pairs_of(bench: Any, seed: int, factors: tuple[float, ...]) -> list[tuple[Result, Result]]:
    """Cases that are this many times as fast as the first, with steps that vary by chance."""
    chance = random.Random(seed)
    cases = (
        bench.case(4, [10.0 / by * chance.lognormvariate(0, 0.03) for _ in range(30)], threads=index + 1)
        for index, by in enumerate((1.0, *factors))
    )
    base, *others = measured(bench.session(*cases))
    return [(base, other) for other in others]


@pytest.mark.parametrize("seed", range(6))
def test_pairs_have_the_verdicts_and_extremes_of_their_exact_comparisons(bench: Any, seed: int) -> None:
    found = pairs_of(bench, seed, (0.2, 0.9, 1.0, 1.001, 1.4, 6.0))
    exact = [comparison(*pair) for pair in found]
    limited = effect_pairs(found, RatioLimits([found[0][0], *(new for _, new in found)]))
    assert [pair.verdict for pair in limited] == [pair.verdict for pair in exact]
    values = [pair.throughput.value for pair in exact if pair.throughput]
    assert extremes(limited) == (min(values), max(values))
    established = [
        exp(abs(log(pair.ratio.value)))
        for pair in exact
        if pair.ratio and pair.verdict in (Verdict.FASTER, Verdict.SLOWER)
    ]
    effect = Effect("batch_size", tuple(limited), Recommended())
    assert effect.factor == max(established, default=1.0) > 4


def test_pairs_without_a_rate_have_no_extremes(bench: Any) -> None:
    cases = (bench.case(4, 10.0, threads=each, prepared={"samples_per_step": 0}) for each in (1, 2))
    found = measured(bench.session(*cases))
    limits = RatioLimits(found)
    (pair,) = effect_pairs([(found[0], found[1])], limits)
    assert extremes([pair]) is None and effect_pairs([], limits) == []


def test_few_exact_ratios_are_computed_for_many_cases(bench: Any) -> None:
    """Ten for each case were computed once, which made a report of 100,000 cases take minutes."""
    made = (
        bench.steady(size, 1.0 * size**0.5, threads=threads) for threads in (1, 2, 3) for size in range(1, 101)
    )
    session = bench.session(*made)
    with mock.patch.object(ratios, "_ratio", wraps=ratios._ratio) as exact:
        markdown(session)
    assert exact.call_count < 3 * 300

import random
from collections import Counter
from collections.abc import Sequence
from math import exp, hypot, inf, log, nextafter, sqrt
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from benchtui.sessions.advice.objectives import ENERGY, SLOW_STEPS
from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.library.paths import CPU_DEMO, demo_path
from benchtui.sessions.payloads import Energy, Environment, Memory, Neighbor, ProcessSpread, Reported
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.distribution import sample
from benchtui.sessions.stats.evidence import bounds_ms, others_of
from benchtui.sessions.stats.noise import ASSUMED, SHARE, Evidence, Noise, Spread
from benchtui.sessions.stats.quantiles import student_t_quantile
from benchtui.sessions.stats.ratios import (
    break_even_steps,
    comparison,
    latency_ratio,
    matched,
    memory_ratio,
    recorded_ratio,
    throughput_ratio,
    widened_for_machine_speed,
)
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.sampling import Bounds, Sample, Statistic
from benchtui.sessions.stats.verdicts import FIRST_ROUNDS, MIN_EFFECT, Doubt, Ratio, Verdict
from benchtui.sessions.sweep import Config

FASTER, SLOWER, SAME, UNSURE = Verdict.FASTER, Verdict.SLOWER, Verdict.SAME, Verdict.UNSURE
OPPOSITE = {FASTER: SLOWER, SLOWER: FASTER, SAME: SAME, UNSURE: UNSURE}
ONE, OTHER = Session(), Session()
"""Two sessions; which one a case belongs to is all that counts."""


def around(value: float, by: float, surely: float = 0.0) -> Bounds:
    """Bounds this many times as far from a value in both directions; the sure ones a bit farther."""
    sure = surely or by**1.3
    return Bounds(value, value / by, value * by, value / sure, value * sure)


def ratio(value: float, by: float, surely: float = 0.0, **more: Any) -> Ratio:
    return Ratio(value, around(value, by, surely), **{"same_within": 0.02} | more)


def case(
    *medians_ms: float,
    error: float | None = 0.0,
    lows_ms: Sequence[float | None] = (),
    means_ms: Sequence[float] = (),
    noise: Noise | None = None,
    session: Session = ONE,
    around: Sequence[Environment | None] = (),
    **options: Any,
) -> Evidence:
    """A case by the median, first quartile and mean of each round, and by what went on around it."""
    state = CaseState(index=0, config=Config(**{"device": "cpu"} | options))
    *before, last = around or [None] * len(medians_ms) or [None]
    state.rounds = tuple(RoundFinished(t=0.0, case=0, round=0, environment=each) for each in before)
    state.finished = CaseFinished(t=0.0, case=0, outcome="ok", environment=last)
    rounds = zip(medians_ms, lows_ms or medians_ms, means_ms or medians_ms, strict=True)
    samples = (
        Sample(
            n=20,
            median=Statistic(median, error),
            low=None if low is None else Statistic(low, error),
            mean=Statistic(mean, error),
        )
        for median, low, mean in rounds
    )
    return Evidence(state, tuple(samples), noise or Noise(), session)


def by_steps(*rounds: Sequence[float], **options: Any) -> Evidence:
    """A case by the steps of its rounds."""
    found = tuple(each for each in map(sample, rounds) if each)
    return replace(case(*(each.median.ms for each in found), **options), rounds=found)


def latency(base: Any, new: Any) -> Ratio:
    found = latency_ratio(base, new)
    assert found is not None
    return found


def bounded(base: Any, new: Any) -> Bounds:
    bounds = latency(base, new).bounds
    assert bounds is not None
    return bounds


def lognormal(n: int, typical_ms: float, jitter: float, dice: random.Random) -> list[float]:
    return [typical_ms * exp(jitter * dice.gauss(0, 1)) for _ in range(n)]


def by_t(center: float, error: float, freedom: float) -> Bounds:
    """Bounds by Student's t around a logarithm."""
    half, sure = student_t_quantile(0.975, freedom) * error, student_t_quantile(0.995, freedom) * error
    return Bounds(*(exp(center + by) for by in (0, -half, half, -sure, sure)))


def beside(bounds: Bounds, error: float) -> Bounds:
    """The same bounds with a known error as well: half-widths add up by their squares."""
    known = by_t(0.0, error, 1e9)
    names = ("low", "high", "sure_low", "sure_high")
    halves = (hypot(log(getattr(bounds, name) / bounds.value), log(getattr(known, name))) for name in names)
    low, high, sure_low, sure_high = (bounds.value * exp(half) for half in halves)
    return Bounds(bounds.value, bounds.value**2 / low, high, bounds.value**2 / sure_low, sure_high)


def near(bounds: Bounds) -> Any:
    """Bounds that are equal but for rounding."""
    ends = (bounds.value, bounds.low, bounds.high, bounds.sure_low, bounds.sure_high)
    return Bounds(*(pytest.approx(each, rel=1e-9) for each in ends))


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        (Bounds(1.1, 1.05, 1.15, nextafter(1.005, 2), 1.2), FASTER),
        (Bounds(1.1, 1.05, 1.15, 1.005, 1.2), UNSURE),
        (Bounds(0.9, 0.85, 0.95, 0.8, nextafter(1 / 1.005, 0)), SLOWER),
        (Bounds(0.9, 0.85, 0.95, 0.8, 1 / 1.005), UNSURE),
        (Bounds(1.0, 1 / 1.02, 1.02, 0.5, 2.0), SAME),
        (Bounds(1.0, nextafter(1 / 1.02, 0), 1.02, 0.5, 2.0), UNSURE),
        (Bounds(1.0, 1 / 1.02, nextafter(1.02, 2), 0.5, 2.0), UNSURE),
        (Bounds(1.01, 1.008, 1.012, 1.006, 1.014), FASTER),
        (Bounds(0.99, 0.988, 0.992, 0.986, 0.994), SLOWER),
        (Bounds(1.003, 1.002, 1.004, 1.001, 1.0045), SAME),
        (Bounds(1.0, 0.9, 1.1, 0.8, 1.2), UNSURE),
        (Bounds(2.0, 0.9, 5.0, 0.8, 7.0), UNSURE),
    ],
)
def test_the_word_follows_from_one_interval_and_one_margin(bounds: Bounds, verdict: Verdict) -> None:
    found = Ratio(bounds.value, bounds, same_within=0.02)
    assert (found.verdict, found.doubt) == (verdict, Doubt.WIDE if verdict is UNSURE else None)
    assert (found.low, found.high) == (bounds.low, bounds.high)
    assert Ratio(bounds.value, bounds).verdict is (UNSURE if verdict is SAME else verdict)


def test_a_ratio_without_an_interval_is_never_sure() -> None:
    found = Ratio(20.0, same_within=0.5)
    assert (found.verdict, found.doubt) == (UNSURE, Doubt.NO_INTERVAL)
    assert (found.shown, found.low, found.high) == (20.0, None, None)
    assert found.resolution is found.rounds_wanted is None
    assert found.sure_low is found.sure_high is found.leaning is None


def test_a_ratio_has_the_ends_of_both_intervals_and_leans_if_they_disagree() -> None:
    leaning = Ratio(1.1, Bounds(1.1, 1.01, 1.2, 0.99, 1.25), same_within=0.02)
    assert (leaning.low, leaning.high, leaning.sure_low, leaning.sure_high) == (1.01, 1.2, 0.99, 1.25)
    assert (leaning.verdict, leaning.leaning) == (UNSURE, FASTER)
    assert ratio(1.5, 1.01).leaning is None, "the 99% interval decides"


def test_a_spread_that_is_assumed_is_measured_first() -> None:
    wide = Ratio(1.1, Bounds(1.1, 0.9, 1.3, 0.8, 1.5), same_within=0.02, between=0.1, assumed=True)
    assert [replace(wide, rounds=rounds).next_rounds for rounds in (1, 4, 5, 7)] == [5, 5, 6, 8]


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (0.0531, 0.0531, 2.0157),
        (1.59, 0.01, 54.88),
        (0.24, 0.19, 1.40),
        (0.0318, 0.0318, 1.5338),
        (0.9, 0.5573, 1.7939),
        (1.2, 0.07, 11.94),
        (0.8, 0.095, 1.594),
        (0.97, 0.900, 1.049),
        (0.83, 0.70, 1.01),
        (0.83, 0.57, 1.22),
    ],
)
def test_an_interval_that_holds_one_and_more_than_the_margin_is_not_sameness(
    value: float, low: float, high: float
) -> None:
    """The intervals of real reports that said "no difference" once."""
    found = Ratio(value, Bounds(value, low, high, low, high), same_within=0.05)
    assert (found.verdict, found.doubt) == (UNSURE, Doubt.WIDE)


@pytest.mark.parametrize(
    ("fast", "doubt"),
    [
        (around(1.5, 1.01), None),
        (around(1.2, 1.1, 1.3), None),
        (around(1.2, 1.2), Doubt.WIDE),
        (around(1.0051, 1.1), Doubt.WIDE),
        (around(1.005, 1.1), Doubt.STEPS),
        (around(0.8, 1.5), Doubt.STEPS),
        (around(1.0, 1.001), Doubt.STEPS),
        (around(1.008, 1.004, 1.005), Doubt.STEPS),
        (around(1.008, 1.001, 1.004), None),
        (around(0.5, 1.01), Doubt.STEPS),
    ],
)
def test_fast_steps_must_be_faster_or_slower_too(fast: Bounds, doubt: Doubt | None) -> None:
    faster = ratio(1.5, 1.01, fast=fast)
    slower = Ratio(1 / 1.5, around(1.5, 1.01).over(), fast=fast.over(), same_within=0.02)
    assert (faster.verdict, faster.doubt) == (UNSURE if doubt else FASTER, doubt)
    assert (slower.verdict, slower.doubt) == (UNSURE if doubt else SLOWER, doubt)


@pytest.mark.parametrize(
    ("fast", "doubt"),
    [
        (around(1.0, 1.01), None),
        (around(1.0, 2.0), None),
        (around(1.02, 2.0), None),
        (around(1.021, 2.0), Doubt.STEPS),
        (around(1.01, 1.001), Doubt.STEPS),
        (around(1.5, 1.01), Doubt.STEPS),
    ],
)
def test_the_same_needs_fast_steps_within_the_margin(fast: Bounds, doubt: Doubt | None) -> None:
    same = ratio(1.0, 1.01, 1.015, fast=fast)
    mirrored = replace(same, fast=fast.over())
    assert (same.doubt, same.verdict) == (doubt, UNSURE if doubt else SAME)
    assert (mirrored.doubt, mirrored.verdict) == (doubt, UNSURE if doubt else SAME)


@pytest.mark.parametrize(
    ("totals", "faster", "same"),
    [
        (around(1.5, 1.01), None, Doubt.TOTALS),
        (around(1.021, 1.2), None, Doubt.TOTALS),
        (around(1.02, 1.2), None, None),
        (around(1.0, 1.2), None, None),
        (around(1.0, 1.001), None, None),
        (around(1 / 1.02, 1.2), None, None),
        (around(1 / 1.021, 1.2), Doubt.TOTALS, Doubt.TOTALS),
        (around(0.5, 1.01), Doubt.TOTALS, Doubt.TOTALS),
    ],
)
def test_totals_have_a_veto(totals: Bounds, faster: Doubt | None, same: Doubt | None) -> None:
    found = ratio(1.5, 1.01, totals=totals)
    assert found.doubt is faster
    mirrored = Ratio(1 / 1.5, around(1.5, 1.01).over(), totals=totals.over(), same_within=0.02)
    assert mirrored.doubt is faster
    assert ratio(1.0, 1.01, 1.015, totals=totals).doubt is same
    assert ratio(1.0, 1.01, 1.015, totals=totals, fast=around(1.5, 1.01)).doubt is Doubt.STEPS


def test_a_difference_that_something_outside_explains_is_not_sure() -> None:
    found = ratio(1.5, 1.01).widened(1.6, 1.0, "a neighbour")
    assert (found.verdict, found.doubt) == (UNSURE, Doubt.OUTSIDE)
    same = ratio(1.0, 1.01, 1.015).widened(1.1, 1.1, "a neighbour")
    assert (same.verdict, same.doubt) == (UNSURE, Doubt.OUTSIDE)
    wide = ratio(1.1, 1.2).widened(1.6, 1.0, "a neighbour")
    assert wide.doubt is Doubt.WIDE
    sure = ratio(2.0, 1.01).widened(1.6, 1.0, "a neighbour")
    assert (sure.verdict, sure.outside, sure.shown) == (FASTER, ("a neighbour",), 2.0)
    assert not ratio(1.0, 1.01).widened(1.0, inf, "a neighbour").is_within_margin
    assert ratio(1.0, 1.01).is_within_margin and not ratio(1.0, 1.03).is_within_margin


def test_what_is_outside_widens_every_interval_towards_its_side() -> None:
    plain = ratio(1.5, 1.1, fast=around(1.4, 1.1), totals=around(1.3, 1.1))
    assert plain.bounds and plain.fast and plain.totals
    found = plain.widened(2.0, 0.5, "heat")
    assert (found.value, found.inner) == (1.5, plain.bounds)
    assert found.bounds == plain.bounds.wider(2.0, 1.0)
    assert (found.fast, found.totals) == (plain.fast.wider(2.0, 1.0), plain.totals.wider(2.0, 1.0))
    assert (plain.widened(0.5, 3.0, "heat").bounds, plain.widened(1.0, 1.0, "")) == (
        plain.bounds.wider(1.0, 3.0),
        plain,
    )
    assert plain.widened(1.001, 0.9, "heat").bounds != plain.bounds
    again = found.widened(1.0, 4.0, "a neighbour", "heat", "a pace")
    assert (again.inner, again.outside) == (plain.bounds, ("heat", "a neighbour", "a pace"))
    assert again.bounds == found.bounds.wider(1.0, 4.0) if found.bounds else False
    bare = ratio(1.5, 1.1).widened(2.0, 2.0, "heat")
    assert bare.fast is bare.totals is None
    assert Ratio(1.5).widened(2.0, 2.0, "heat") == Ratio(1.5)


def test_a_ratio_for_more_work_is_as_sure() -> None:
    plain = ratio(1.5, 1.1, fast=around(1.4, 1.1), totals=around(1.3, 1.1), between=0.1, rounds=3)
    found = plain.times(2.0)
    assert found == Ratio(
        3.0,
        around(1.5, 1.1).times(2),
        around(1.4, 1.1).times(2),
        around(1.3, 1.1).times(2),
        same_within=0.02,
        between=0.1,
        rounds=3,
    )
    assert plain.widened(1.2, 1.0, "heat").times(2.0).inner == found.bounds
    assert Ratio(1.5).times(2.0) == Ratio(3.0)
    assert (Ratio(1.5).rounds, Ratio(1.5).same_within) == (0, 0)


@pytest.mark.parametrize(
    ("bounds", "resolution"),
    [
        (Bounds(1.0, 0.9, 1.1, 0.8, 1.2), 1.25 * 1.005 - 1),
        (Bounds(1.0, 0.9, 1.1, 0.8, 1.5), 1.5 * 1.005 - 1),
        (Bounds(2.0, 1.9, 2.1, 1.6, 2.2), 1.25 * 1.005 - 1),
        (Bounds(1.0, 1.0, 1.0, 1.0, 1.0), 0.005),
        (Bounds(0.05, 0.04, 0.06, 0.02, 0.06), 2.5 * 1.005 - 1),
        (Bounds(1.0, 0.0, inf, 0.0, inf), None),
        (Bounds(0.0, 0.0, 1.0, 0.0, 1.0), None),
        (Bounds(0.0, 0.0, 1.0, 0.5, 1.0), None),
    ],
)
def test_the_smallest_difference_that_would_have_been_called_one(
    bounds: Bounds, resolution: float | None
) -> None:
    found = Ratio(bounds.value, bounds).resolution
    assert found is None if resolution is None else found == pytest.approx(resolution)


def test_at_its_resolution_a_difference_is_one(bench: Any) -> None:
    base, new = case(10.0, error=0.01), case(10.0, error=0.02)
    least = latency(base, new).resolution
    assert least is not None
    assert latency(base, case(10.0 / (1 + least + 1e-9), error=0.02)).verdict is FASTER
    assert latency(base, case(10.0 * (1 + least + 1e-9), error=0.02)).verdict is SLOWER
    assert latency(base, case(10.0 * (1 + least - 1e-9), error=0.02)).verdict is UNSURE


@pytest.mark.parametrize(
    ("value", "between", "rounds", "wanted"),
    [
        # less than log(1.02) = 0.0198: (2.018 + 1.302) * 0.02 * sqrt(2 / 22) = 0.0200 with t(42); t(44): 0.0196
        (1.0, 0.02, 1, 23),
        (1.0, 0.02, 23, 24),
        # off = 0.0513, less 0.005; (3.169 + 0.879) * 0.02 * sqrt(2 / 6) = 0.0467 with t(10); t(12): 0.0420
        (0.95, 0.02, 1, 7),
        (1 / 0.95, 0.02, 1, 7),
        (0.95, 0.025, 1, 9),
        (1.0, 0.008, 1, 5),
        (0.9, 0.02, 0, 3),
        (0.9, 0.02, 2, 3),
        (0.9, 0.02, 3, 4),
        # off = 0.00995, which leaves 0.00985 to both verdicts
        (1.01, 0.01, 1, 23),
        (1.0, 0.0429, 1, 100),
        (1.0, 0.0431, 1, None),
        (1.0, 0.02, 99, 100),
        (1.0, 0.02, 100, None),
        (1.0, None, 1, None),
        (1.0, 0.0, 1, None),
        (0.0, 0.02, 1, None),
    ],
)
def test_the_rounds_that_would_decide(
    value: float, between: float | None, rounds: int, wanted: int | None
) -> None:
    wide = Bounds(value, 0.5, 2.0, 0.4, 2.5)
    found = Ratio(value, wide, same_within=0.02, between=between, rounds=rounds)
    assert found.rounds_wanted == wanted
    assert found.next_rounds == (FIRST_ROUNDS if wanted and rounds < 3 else wanted)
    assert replace(found, outside=("a neighbour",)).rounds_wanted is None


def test_shared_variances_need_fewer_rounds() -> None:
    """A true 5% at a spread of 2%: variances that the cases share are known by more degrees of freedom."""
    wide = Ratio(1.05, Bounds(1.05, 0.97, 1.13, 0.95, 1.16), same_within=0.02, between=0.02, rounds=3)
    shared = replace(wide, moderated=True)
    assert (wide.rounds_wanted, shared.rounds_wanted) == (7, 6)
    assert replace(wide, by_turns=True).rounds_wanted == 9, "the spread of pairs is known by half as many"
    assert replace(wide, apart=2 * 0.003**2).rounds_wanted == 8, "more rounds don't make sessions alike"


def test_rounds_are_no_advice_for_what_is_decided_or_contested() -> None:
    decided = ratio(1.5, 1.01, between=0.02, rounds=1)
    assert decided.rounds_wanted is None
    assert replace(decided, fast=around(0.9, 1.01)).rounds_wanted is None
    assert replace(decided, fast=around(1.2, 1.3)).rounds_wanted == 3
    assert replace(decided, bounds=None).rounds_wanted is None


def test_one_round_each_has_its_steps_and_the_noise_of_processes() -> None:
    found = latency(case(10.0, error=0.01), case(8.0, error=0.03))
    variance = 0.01**2 + 0.03**2 + 2 * ASSUMED**2
    freedom = variance**2 / ((2 * ASSUMED**2) ** 2 / 4)  # one assumption for both, not two that may differ
    bounds = near(by_t(log(10 / 8), sqrt(variance), freedom))
    assert (found.bounds, found.fast, found.totals) == (bounds, bounds, bounds)
    assert (found.value, found.rounds, found.same_within) == (pytest.approx(1.25), 1, 0.02)
    assert found.between == pytest.approx(sqrt((0.01**2 + 0.03**2) / 2 + ASSUMED**2))
    assert (found.inner, found.outside, found.assumed) == (None, (), True)


def test_two_rounds_share_the_noise_of_processes() -> None:
    found = latency(case(9.0, 16.0, error=0.01), case(4.0, 9.0, error=0.03))
    # 9 and 16, 4 and 9: logarithms that are 0.58 and 0.81 apart, more than what is assumed
    shared = (log(16 / 9) ** 2 / 2 + log(9 / 4) ** 2 / 2) / 2
    variance = (0.01**2 + 0.03**2) / 2 + shared
    assert found.bounds == near(by_t(log(12 / 6), sqrt(variance), variance**2 / (shared**2 / 4)))
    assert (found.value, found.rounds) == (pytest.approx(2.0), 2)
    assert found.between == pytest.approx(sqrt(variance))


def test_two_rounds_that_agree_have_the_spread_that_is_assumed() -> None:
    found = latency(case(9.0, 9.0), case(4.0, 4.0))
    assert found.bounds == near(by_t(log(9 / 4), ASSUMED, 4))


def test_what_was_measured_of_the_noise_counts_in_place_of_the_assumption() -> None:
    one, other = Noise(Spread(0.001**2, 50.0)), Noise(Spread(0.004**2, 12.0), between_sessions=0.02)
    found = latency(case(10.0, noise=one), case(10.0, noise=other, session=OTHER))
    variance = 0.001**2 + 0.004**2
    processes = by_t(0.0, sqrt(variance), variance**2 / (0.001**4 / 3 + 0.004**4 / 3))
    assert found.bounds == near(beside(processes, hypot(0.003, 0.02)))
    assert not found.assumed
    alike = bounded(case(10.0, noise=one), case(10.0, noise=one))
    assert alike == near(by_t(0.0, sqrt(2) * 0.001, 3)), "both rely on one estimate"


def test_too_few_repeats_leave_the_assumption() -> None:
    few = Noise(Spread(0.004**2, 11.0))
    assert latency(case(10.0, noise=few), case(10.0, noise=few)).assumed
    assert bounded(case(10.0, noise=few), case(10.0, noise=few)) == near(by_t(0.0, sqrt(2) * ASSUMED, 4))
    wild = Noise(Spread(0.2**2, 5.0))
    assert bounded(case(10.0, noise=wild), case(10.0, noise=wild)) == near(by_t(0.0, sqrt(2) * 0.2, 4))


def test_three_rounds_speak_for_themselves_by_welch_if_a_few_others_vary_as_little() -> None:
    """Logarithms 0, 3, 6 against 0, 2, 4, 6 in hundredths: variances 9 / 3 and 20 / 3 / 4 of their means."""
    few = Noise(Spread(0.02**2, 6.0))
    base = case(*(10 * exp(by / 100) for by in (0, 3, 6)), noise=few)
    new = case(*(9 * exp(by / 100) for by in (0, 2, 4, 6)), noise=few)
    found = latency(base, new)
    one, other = 9e-4 / 3, 20e-4 / 3 / 4
    freedom = (one + other) ** 2 / (one**2 / 2 + other**2 / 3)
    assert freedom == pytest.approx(4.0137, rel=1e-4)
    bounds = near(by_t(log(10 / 9), sqrt(one + other), freedom))
    assert (found.bounds, found.fast, found.totals) == (bounds, bounds, bounds)
    assert found.rounds == 3
    assert found.between == pytest.approx(sqrt((one + other) / 2 * 3))


def test_a_few_others_that_vary_more_are_the_least_spread_of_a_case() -> None:
    paces = Noise(Spread(0.1**2, 6.0))
    found = bounded(case(10.0, 10.1, 10.2, noise=paces), case(8.0, 8.1, 8.2, noise=paces))
    center = (log(10 * 10.1 * 10.2) - log(8 * 8.1 * 8.2)) / 3
    assert found == near(by_t(center, 0.1 * sqrt(2 / 3), 4))


def test_three_rounds_of_two_cases_do_not_show_the_paces_of_processes() -> None:
    """All three of one case may run at one pace, and all of the other one at another."""
    exact = [10.0] * 3, [10 * 1.33] * 3
    alone = latency(*(case(*rounds) for rounds in exact))
    assert (alone.verdict, alone.assumed) == (UNSURE, True)
    assert latency(*(case(*rounds, rounds[0]) for rounds in exact)).verdict is SLOWER
    known = Noise(Spread(0.001**2, 12.0))
    assert latency(*(case(*rounds, noise=known) for rounds in exact)).verdict is SLOWER


def test_equal_rounds_are_as_sure_as_their_steps() -> None:
    found = bounded(case(*[10.0] * 4, error=0.03), case(*[8.0] * 4, error=0.03))
    assert found == near(by_t(log(10 / 8), sqrt(2 * 0.03**2 / 4), 6))
    exact = bounded(case(*[10.0] * 4), case(*[8.0] * 4))
    assert exact == near(by_t(log(10 / 8), 0.0, inf))


def spread(*logs: float) -> float:
    mean = sum(logs) / len(logs)
    return sum((each - mean) ** 2 for each in logs) / (len(logs) - 1)


def shared(session: float, own: float) -> float:
    return SHARE * session + (1 - SHARE) * own


def test_a_case_takes_most_of_its_variance_from_its_session() -> None:
    noise = Noise(Spread(0.02**2, 16.0))
    logs = (0.0, 0.01, 0.02), (0.0, 0.0, 0.0)
    base, new = (case(*(10 * exp(by) for by in rounds), noise=noise) for rounds in logs)
    one, other = (shared(0.02**2, spread(*rounds)) / 3 for rounds in logs)
    freedom = (one + other) ** 2 / ((one**2 + other**2) * (1 - SHARE) / 2)
    found = latency(base, new)
    assert found.bounds == near(by_t(0.01, sqrt(one + other), freedom))
    assert not found.assumed


def test_a_case_that_varies_more_than_the_others_keeps_its_own_variance() -> None:
    pool = (0.01**2 * 12 + 0.1**2 * 2) / 16
    noise = Noise(Spread(pool, 16.0))
    noisy = case(*(10 * exp(by) for by in (-0.1, 0.0, 0.1)), noise=noise)
    found = bounded(noisy, case(10.0, 10.0, 10.0, noise=noise))
    one, other = 0.1**2 / 3, shared(pool, 0.0) / 3
    assert found == near(
        by_t(0.0, sqrt(one + other), (one + other) ** 2 / (one**2 / 2 + other**2 * (1 - SHARE) / 2))
    )
    twice = bounded(case(10 * exp(-0.1), 10 * exp(0.1), noise=noise), case(10.0, noise=noise))
    variance = 0.02 / 2 + pool
    assert twice == near(by_t(0.0, sqrt(variance), 4))


def test_where_processes_run_at_paces_nothing_is_shared() -> None:
    paces = Noise(Spread(0.051**2, 16.0))
    found = bounded(case(10.0, 10.0, 10.0, noise=paces), case(10.0, 10.0, 10.0, noise=paces))
    assert found == near(by_t(0.0, 0.051 * sqrt(2 / 3), 4))
    few = bounded(case(10.0, noise=paces), case(10.0, noise=paces))
    assert few == near(by_t(0.0, ASSUMED * sqrt(2), 4))


def test_each_case_has_the_variance_of_its_own_rounds() -> None:
    few, many = case(10.0, 10.0), case(8.0, 9.0, 10.0, 10.0)
    assumed, own = ASSUMED**2 / 2, spread(log(8), log(9), log(10), log(10)) / 4
    freedom = (assumed + own) ** 2 / (assumed**2 / 4 + own**2 / 3)
    found = latency(few, many)
    assert found.bounds == near(by_t(log(10) - log(7200) / 4, sqrt(assumed + own), freedom))
    assert (found.rounds, found.assumed) == (2, True)
    assert latency(many, few).rounds == 2


def test_between_two_sessions_more_is_assumed_and_within_one_it_is_not() -> None:
    base, new = case(*[10.0] * 4, error=0.001), case(*[10.0] * 4, error=0.001, session=OTHER)
    within, steps = bounded(base, replace(new, session=ONE)), 0.001**2 / 4
    assert within == near(by_t(0.0, sqrt(2 * steps), 6))
    found = latency(base, new)
    assert found.bounds == near(beside(by_t(0.0, sqrt(2 * steps), 6), sqrt(2) * 0.003))
    assert found.between == pytest.approx(0.001), "more rounds don't make sessions alike"


def test_the_noise_floor_is_the_least_half_width() -> None:
    exact = Noise(Spread(0.001**2, 20.0))
    noisy = replace(exact, floor=0.1)
    for pair in (
        (case(10.0, noise=noisy), case(8.0, noise=exact)),
        (case(10.0, noise=exact), case(8.0, noise=noisy)),
    ):
        found = bounded(*pair)
        assert (found.low, found.high) == pytest.approx((1.25 * exp(-0.1), 1.25 * exp(0.1)))
        assert found.sure_high == pytest.approx(1.25 * exp(0.1))
        assert latency(*pair).fast == latency(*pair).totals == found
    wide = bounded(case(10.0, noise=Noise(floor=0.01)), case(8.0, noise=Noise(floor=0.02)))
    assert wide == bounded(case(10.0), case(8.0)), "one round is less exact than that"


def test_the_margin_is_the_larger_one_of_both_sessions() -> None:
    one, other = Noise(floor=0.02), Noise(same_within=0.03)
    assert latency(case(10.0, noise=one), case(10.0, noise=other)).same_within == 0.04
    assert latency(case(10.0, noise=other), case(10.0)).same_within == 0.03
    assert latency(case(10.0), case(10.0, noise=other)).same_within == 0.03


def test_an_aa_pair_that_differs_by_far_makes_nothing_the_same() -> None:
    """The pair of a report that called its halves, 77% apart, no different."""
    noise = Noise(floor=log(1.7718))
    rounds = [1.0, 1.001, 1.002]
    assert noise.margin == 0.05
    assert latency(case(*rounds, noise=noise), case(*rounds, noise=noise)).verdict is UNSURE
    assert latency(case(*rounds, noise=noise), case(1.77, 1.77, 1.78, noise=noise)).verdict is UNSURE


def test_fewer_than_six_steps_give_no_interval(bench: Any) -> None:
    few, enough, other = bench.results(
        bench.case(1, [10.0] * 5), bench.case(2, [10.0] * 6), bench.case(4, [10.0] * 6)
    )
    for pair in ((few, enough), (enough, few)):
        found = latency(*pair)
        assert (found.value, found.bounds, found.doubt, found.rounds) == (1.0, None, Doubt.NO_INTERVAL, 1)
        assert (found.fast, found.totals, found.same_within, found.reported) == (None, None, 0.02, False)
    assert latency(enough, other).bounds is not None
    known = Noise(Spread(0.01**2, 20.0))
    assert latency(replace(few, noise=known), replace(enough, noise=known)).doubt is Doubt.NO_INTERVAL


def test_one_round_of_equal_cases_does_not_show_that_they_are_the_same(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, 10.0))
    session.started = msgspec.structs.replace(session.started, process_spread={})
    found = latency(*measured(session))
    assert (found.verdict, found.doubt, found.next_rounds) == (UNSURE, Doubt.WIDE, 5)
    assert found.resolution == pytest.approx(1.2, abs=0.01)  # 1.005 * exp(4.6 * 0.12 * sqrt(2)), and the steps


def test_earlier_sessions_of_the_machine_make_one_round_more_exact(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, 10.0))
    spread = {"cpu": ProcessSpread(between=0.001, freedom=400.0)}
    session.started = msgspec.structs.replace(session.started, process_spread=spread)
    found = latency(*measured(session))
    assert (found.verdict, found.between) == (SAME, pytest.approx(0.0014, abs=0.0001))


def test_repeats_in_an_import_tell_how_processes_differ(bench: Any) -> None:
    ends = [
        {"reported": Reported(latency_mean_ms=middle, repeats_mean_ms=repeats)}
        for middle, repeats in ((10.0, (9.99, 10.01) * 4), (8.0, (7.99, 8.01) * 3), (7.0, ()))
    ]
    many, faster, single = bench.results(*(bench.case(size, end=end) for size, end in enumerate(ends, 1)))
    assert [each.noise.pool.freedom for each in (many, faster, single)] == [12, 12, 12]
    assert latency(many, faster).verdict is latency(many, single).verdict is FASTER
    assert latency(many, faster).rounds == 6


def test_repeats_of_a_source_without_steps_give_an_interval() -> None:
    one, other = (case(ms, error=None, lows_ms=[None]) for ms in (10.0, 8.0))
    assert latency(one, other).doubt is Doubt.NO_INTERVAL
    known = Noise(Spread(0.01**2, 18.0))
    found = latency(replace(one, noise=known), replace(other, noise=known))
    assert found.bounds == near(by_t(log(10 / 8), sqrt(2) * 0.01, 3))
    assert (found.verdict, found.fast, found.totals) == (FASTER, None, found.bounds)
    assert latency(replace(one, noise=known), other).bounds is None
    four = [case(*rounds, error=None, lows_ms=[None] * 4) for rounds in ([9.9, 10, 10, 10.1], [4.9, 5, 5, 5.1])]
    assert latency(*four).verdict is FASTER


def test_the_witnesses_are_first_quartiles_and_means() -> None:
    known = Noise(Spread(0.01**2, 12.0))
    base = case(10.0, 10.1, 10.2, lows_ms=[9.0, 9.1, 9.2], means_ms=[12.0, 12.1, 12.2], noise=known)
    new = case(8.0, 8.1, 8.2, lows_ms=[9.0, 9.1, 9.2], means_ms=[16.0, 16.1, 16.2], noise=known)
    found = latency(base, new)
    assert found.bounds and found.fast and found.totals
    assert found.value == found.bounds.value == pytest.approx(10.1 / 8.1, rel=1e-3)
    assert found.fast.value == pytest.approx(1)
    assert found.totals.value == pytest.approx(12.1 / 16.1, rel=1e-3)
    assert found.doubt is Doubt.STEPS
    assert latency(base, replace(new, rounds=case(8.0, 8.1, 8.2, means_ms=[16.0] * 3).rounds)).doubt is (
        Doubt.TOTALS
    )


def test_times_of_zero_have_no_ratio_and_no_witness() -> None:
    assert latency_ratio(case(10.0), case(0.0)) is None
    assert latency_ratio(case(0.0), case(10.0)) is None
    assert latency_ratio(case(10.0), case()) is None
    assert latency_ratio(case(0.0, 10.0), case(10.0, 10.0)) is None
    found = latency(case(10.0), case(10.0, lows_ms=[0.0], means_ms=[0.0]))
    assert found.bounds is not None
    assert found.fast is found.totals is None
    assert latency(case(10.0), case(10.0, lows_ms=[None])).fast is None
    assert latency(case(10.0, lows_ms=[None]), case(10.0)).fast is None


def test_times_below_a_millisecond_are_times() -> None:
    assert bounded(case(0.5, 0.4, 0.6), case(0.25, 0.2, 0.3)).value == pytest.approx(2.0)
    assert bounded(case(0.5), case(0.25)).value == pytest.approx(2.0)


def test_a_swapped_pair_has_the_mirrored_word() -> None:
    dice = random.Random(1)
    seen = Counter[Verdict]()
    for _ in range(300):
        spread, rounds = dice.choice((0.001, 0.01, 0.1)), dice.choice((1, 2, 3, 5))
        truth = dice.choice((1.0, 1.03, 1.3))
        noise = Noise(Spread(spread**2, 20.0))
        one, other = (
            case(*lognormal(rounds, ms, spread, dice), error=spread / 5, noise=noise, session=session)
            for ms, session in ((10.0, ONE), (10 * truth, dice.choice((ONE, OTHER))))
        )
        found, mirrored = latency(one, other), latency(other, one)
        assert mirrored.verdict is OPPOSITE[found.verdict]
        assert (mirrored.doubt, mirrored.rounds_wanted) == (found.doubt, found.rounds_wanted)
        assert found.bounds is not None
        assert mirrored.bounds == near(found.bounds.over())
        seen[found.verdict] += 1
    assert min(seen[SLOWER], seen[SAME], seen[UNSURE]) > 10


def test_bounds_of_a_case_hold_fresh_processes_of_it() -> None:
    variance = 0.01**2 + ASSUMED**2
    assert bounds_ms(case(10.0, error=0.01)) == near(
        by_t(log(10), sqrt(variance), variance**2 / (ASSUMED**4 / 4))
    )
    logs = [log(9), log(10), log(11), log(12)]
    assert bounds_ms(case(9.0, 10.0, 11.0, 12.0)) == near(by_t(sum(logs) / 4, sqrt(spread(*logs) / 4), 3))
    assert bounds_ms(case(0.5)) is not None
    assert bounds_ms(case(0.0, 10.0)) is None
    assert bounds_ms(case(0.0)) is bounds_ms(case()) is bounds_ms(case(10.0, error=None)) is None


QUIET, SHARED = Environment(processors=2), Environment(processors=2, gpu_processes=1)
BUSY = Environment(processors=2, others_cpu_percent=50.0, neighbors=(Neighbor(name="make", user="bob"),))
HOT, WARM = (
    Environment(throttle=("hw_thermal",), graphics_clock_mhz=mhz, graphics_clock_best_mhz=1800.0)
    for mhz in (900.0, 1200.0)
)
NEIGHBOUR, PROCESSES = "another process used the GPU", "other processes were running: make (bob)"
THROTTLED = "the GPU was throttled"


def test_one_throttled_case_widens_towards_its_side() -> None:
    plain = latency(case(10.0), case(10.0))
    slow_base = latency(case(10.0, around=[HOT]), case(10.0, around=[QUIET]))
    slow_new = latency(case(10.0), case(10.0, around=[WARM]))
    assert plain.bounds is not None
    assert slow_base.bounds == plain.bounds.wider(2.0, 1.0)
    assert (slow_base.outside[0], slow_base.inner) == (THROTTLED, plain.bounds)
    assert slow_new.bounds == plain.bounds.wider(1.0, 1.5)
    assert slow_new.outside[0] == THROTTLED
    assert latency(case(10.0, around=[QUIET]), case(10.0)) == plain


def test_two_throttled_cases_may_differ_by_more_than_their_ratio() -> None:
    plain = bounded(case(10.0), case(10.0))
    alike = latency(case(10.0, around=[HOT]), case(10.0, around=[HOT]))
    assert alike.bounds == near(plain.wider(1.1, 1.1))
    unlike = latency(case(10.0, around=[HOT]), case(10.0, around=[WARM]))
    assert unlike.bounds == near(plain.wider(1.1 * 2 / 1.5 * 1200 / 900, 1.1)), "for heat, and for the clocks"


@pytest.mark.parametrize("value", [0.01, 0.9, 1.0, 1.1, 100.0])
@pytest.mark.parametrize("disturbed", ["base", "new", "both"])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_beside_a_neighbor_nothing_follows_from_any_ratio(value: float, disturbed: str, rounds: int) -> None:
    times_ms = [10.0] * rounds
    base = case(*times_ms, error=0.001, around=[BUSY if disturbed != "new" else QUIET] * rounds)
    new_ms = [10.0 / value] * rounds
    new = case(*new_ms, error=0.001, around=[SHARED if disturbed != "base" else QUIET] * rounds)
    found = latency(base, new)
    assert (found.verdict, found.doubt, found.bounds) == (UNSURE, Doubt.OUTSIDE, None)
    whose = {"base": (PROCESSES,), "new": (NEIGHBOUR,), "both": (PROCESSES, NEIGHBOUR)}
    assert found.outside == whose[disturbed]
    assert found.shown is found.low is found.resolution is found.rounds_wanted is None
    assert throughput_ratio(base, new) == found.times(1.0)


def test_disturbed_rounds_do_not_count_while_there_are_others() -> None:
    two = latency(case(50.0, 10.0, around=[SHARED, QUIET]), case(10.0, 10.0))
    assert two == replace(latency(case(10.0), case(10.0, 10.0)), rounds=1)
    assert latency(case(50.0, 10.0, around=[HOT, QUIET]), case(10.0, 10.0)).outside == ()
    base = case(10.0, 10.0, 10.0, error=0.001)
    plain = bounded(base, base)
    one = latency(case(20.0, 15.0, 10.0, error=0.001, around=[SHARED, HOT, QUIET]), base)
    assert (one.value, one.rounds) == (1.0, 1) and THROTTLED not in one.outside
    throughout = latency(case(*[10.0] * 3, error=0.001, around=[HOT, WARM, HOT]), base)
    assert throughout.bounds == plain.wider(1.5, 1.0) and throughout.outside[0] == THROTTLED
    both = case(*[10.0] * 3, error=0.001, around=[HOT] * 3)
    assert latency(both, both).bounds == plain, "rounds in turns had the same clock"
    mixed = latency(base, case(10.0, 10.0, around=[HOT, HOT]))
    assert THROTTLED in mixed.outside


def recorded(base: Any, new: Any) -> Ratio:
    found = recorded_ratio(base, new, 0.03)
    assert found is not None
    return found


def test_speed_relative_to_a_record_has_the_interval_of_the_new_case() -> None:
    base, new = case(0.9, 1.6, error=0.5), case(0.8, 0.8, error=0.01, around=[QUIET, QUIET])
    own, found = bounds_ms(new), recorded(base, new)
    assert own and found.bounds == near(own.over().times(1.2))
    assert (found.value, found.rounds, found.same_within) == (pytest.approx(1.5), 2, 0.03)
    assert recorded(base, case(0.8, batch_size=4)).value == pytest.approx(6.0)
    exact = recorded(base, case(*[0.8] * 4)).bounds
    assert exact == near(Bounds(*[1.5] * 5))
    assert recorded(base, case(0.8, error=None)).bounds is None
    for pair in ((base, case(0.0)), (case(0.0), new)):
        assert recorded_ratio(*pair, 0.03) is None


def test_speed_of_steps_without_samples_relative_to_a_record_is_that_of_steps(bench: Any) -> None:
    slow, fast = bench.results(*(bench.case(ms=ms, prepared={"samples_per_step": 0}) for ms in (20.0, 10.0)))
    assert recorded(slow, fast).value == pytest.approx(2.0)


@pytest.mark.parametrize(("around", "by"), [([HOT], 2.0), ([HOT, WARM], 2.0), ([HOT, WARM, HOT], 1.5)])
def test_what_disturbed_the_new_case_widens_its_speed_relative_to_a_record(
    around: Sequence[Environment], by: float
) -> None:
    times_ms = [10.0] * len(around)
    plain = recorded(case(10.0), case(*times_ms))
    found = recorded(case(*times_ms, around=around), case(*times_ms, around=around))
    assert plain.bounds and found.bounds == near(plain.bounds.wider(1.0, by))
    assert found.outside[0] == THROTTLED and plain.outside == ()
    neighbored = recorded(case(10.0), case(10.0, around=[BUSY]))
    assert (neighbored.bounds, neighbored.outside) == (None, (PROCESSES,))


def clocked(*clocks_mhz: float | None, **options: Any) -> Evidence:
    around = [Environment(graphics_clock_mhz=each) for each in clocks_mhz]
    return case(*[10.0] * len(clocks_mhz), error=0.001, around=around, device="cuda:0", **options)


def test_clocks_that_differ_may_account_for_a_difference() -> None:
    plain = bounded(case(10.0, error=0.001), case(10.0, error=0.001))
    faster, slower = latency(clocked(1000.0), clocked(1250.0)), latency(clocked(1250.0), clocked(1000.0))
    assert faster.bounds == near(plain.wider(1.25, 1.0))
    assert faster.outside == ("the GPU's clock was 1,000 and 1,250 MHz",)
    assert slower.bounds == near(plain.wider(1.0, 1.25))
    assert latency(clocked(1000.0), clocked(1005.0)).outside == ()
    assert latency(clocked(1000.0), clocked(995.1)).outside == ()
    assert latency(clocked(1000.0), clocked(1005.1)).outside != ()
    assert latency(clocked(1000.0), clocked(994.9)).outside != ()


def test_memory_clocks_may_account_for_a_difference_that_equal_clocks_do_not_explain() -> None:
    slow, fast = (
        case(10.0, error=0.001, around=[Environment(graphics_clock_mhz=1000.0, memory_clock_mhz=each)])
        for each in (2000.0, 2500.0)
    )
    assert latency(slow, fast).outside == ("the GPU's memory clock was 2,000 and 2,500 MHz",)
    assert latency(slow, slow).outside == ()


def test_the_clock_of_a_case_is_the_mean_of_its_rounds_where_each_has_one() -> None:
    assert latency(clocked(1000.0, 1200.0), clocked(1100.0)).outside == ()
    assert latency(clocked(1000.0, 1200.0), clocked(1200.0)).outside != ()
    for unknown in (clocked(1000.0, None), clocked(None), clocked(0.0, 1000.0), case(10.0)):
        assert latency(unknown, clocked(2000.0)).outside == ()
        assert latency(clocked(2000.0), unknown).outside == ()
    unread = clocked(1000.0, 1000.0)
    unread.case.rounds = (RoundFinished(t=0.0, case=0, round=0),)
    assert latency(unread, clocked(2000.0)).outside == ()


def test_rounds_in_turns_have_a_clock_of_their_own_doing() -> None:
    base, new = clocked(*[1000.0] * 3), clocked(*[1500.0] * 3)
    assert latency(base, new).outside == ()
    assert latency(base, replace(new, session=OTHER)).outside != ()
    assert latency(base, clocked(1500.0, 1500.0)).outside != ()


def test_a_machine_at_another_pace_may_account_for_a_difference(bench: Any) -> None:
    base, new = bench.results(bench.steady(1, 10.0), bench.steady(2, 16.0))
    pair = comparison(base, new)
    assert pair.verdict is FASTER
    found = widened_for_machine_speed(pair, (0.8, 1.5))
    for plain, paced in ((pair.latency, found.latency), (pair.throughput, found.throughput)):
        assert plain is not None and paced is not None and plain.bounds is not None
        assert paced.bounds == near(plain.bounds.wider(1.5, 1.25))
        assert (paced.outside, paced.inner) == (("the machine itself ran at a different speed",), plain.bounds)
    assert (found.verdict, found.ratio and found.ratio.doubt) == (UNSURE, Doubt.OUTSIDE)
    assert widened_for_machine_speed(pair, (1.0, 1.0)) == pair
    assert widened_for_machine_speed(pair, (1.2, 1.1)).verdict is FASTER
    steeper = widened_for_machine_speed(pair, (1.1, 1.2)).latency
    assert steeper is not None and pair.latency is not None and pair.latency.bounds is not None
    assert steeper.bounds == near(pair.latency.bounds.wider(1.2, 1.0))
    none = replace(pair, throughput=None, latency=None)
    assert widened_for_machine_speed(none, (0.8, 1.5)) == none


def test_a_ratio_is_above_one_for_the_faster_case(bench: Any) -> None:
    slow, fast = bench.results(bench.case(ms=20.0), bench.case(batch_size=2, ms=10.0))
    pair = comparison(slow, fast)
    assert pair.latency is not None and pair.throughput is not None
    assert (pair.latency.value, pair.throughput.value) == pytest.approx((2.0, 4.0))
    assert (pair.verdict, pair.ratio) == (FASTER, pair.throughput)


def test_throughput_counts_the_samples_of_a_step() -> None:
    one, four = case(10.0), case(20.0, batch_size=4)
    found = throughput_ratio(one, four)
    assert found == latency(one, four).times(4)
    assert found is not None and found.value == pytest.approx(2.0)


def test_throughput_counts_what_the_task_says_is_in_a_step(bench: Any) -> None:
    pair = bench.results(
        bench.case(ms=10.0, prepared={"samples_per_step": 8}),
        bench.case(batch_size=4, ms=20.0, prepared={"samples_per_step": 8}),
    )
    found = comparison(*pair).throughput
    assert found is not None
    assert found.value == pytest.approx(0.5)


def test_a_step_without_samples_has_no_throughput_and_its_time_decides(bench: Any) -> None:
    command = {"samples_per_step": 0}
    slow, fast, other = bench.results(
        bench.case(1, 20.0, prepared=command), bench.case(2, 10.0, prepared=command), bench.case(4, 10.0)
    )
    for pair in (comparison(slow, fast), comparison(slow, other)):
        assert pair.throughput is None
        assert (pair.ratio, pair.verdict) == (pair.latency, FASTER)
    assert comparison(other, fast).throughput is not None


def test_without_steps_throughput_is_what_the_sources_say(bench: Any) -> None:
    ends = [
        {"reported": Reported(steps=20, latency_mean_ms=ms, samples_per_s=rate)}
        for ms, rate in ((20.0, 50.0), (10.0, 120.0), (10.0, None))
    ]
    slow, fast, silent = bench.results(
        *(bench.case(size, end=end) for size, end in zip((1, 1, 2), ends, strict=True))
    )
    found = comparison(slow, fast)
    assert found.latency is not None and found.throughput is not None
    assert (found.latency.value, found.throughput.value) == pytest.approx((2.0, 2.4))
    assert (found.latency.doubt, found.verdict) == (Doubt.NO_INTERVAL, Verdict.REPORTED)
    (measured_here,) = bench.results(bench.case(1, [10.0] * 5))
    assert comparison(slow, measured_here).verdict is comparison(measured_here, slow).verdict is UNSURE
    derived = comparison(slow, silent).throughput
    assert derived is not None and derived.value == pytest.approx(4.0)


def test_with_steps_throughput_is_not_what_a_source_says(bench: Any) -> None:
    ends = [{"reported": Reported(latency_mean_ms=1.0, samples_per_s=rate)} for rate in (1e6, 3e6)]
    made = (
        bench.case(1, 10.0, end=end, precision=name) for end, name in zip(ends, ("fp32", "bf16"), strict=True)
    )
    found = comparison(*bench.results(*made)).throughput
    assert found is not None and found.value == pytest.approx(1.0)


def test_a_pair_without_times_has_no_word(bench: Any) -> None:
    slow, none = bench.results(bench.case(ms=10.0), bench.case(batch_size=2, ms=[0.0] * 30))
    found = comparison(slow, none)
    assert found.latency is found.throughput is found.ratio is None
    assert found.verdict is UNSURE


def with_energy(bench: Any, *joules: Sequence[float], ms: float = 10.0) -> tuple[Any, ...]:
    """Cases by the energy of each of their rounds, of six steps each."""
    made = [
        bench.case(1 + place, rounds=[[ms] * 6] * len(each), end={"energy": Energy(energy_j=sum(each))})
        for place, each in enumerate(joules)
    ]
    more = [
        RoundFinished(t=0.0, case=place, round=turn, energy=Energy(energy_j=joule))
        for place, each in enumerate(joules)
        for turn, joule in enumerate(each[:-1])
    ]
    return measured(bench.session(*made, more=more))


def test_energy_is_bounded_by_three_rounds(bench: Any) -> None:
    base, new = with_energy(bench, [6.0, 12.0, 18.0], [6.0, 6.0, 12.0])
    found = ENERGY.ratio(base, new)
    assert found is not None
    logs = [log(1), log(2), log(3)], [log(0.5), log(0.5), log(1)]
    centers = [sum(each) / 3 for each in logs]
    errors = [sum((one - center) ** 2 for one in each) / 6 for each, center in zip(logs, centers, strict=True)]
    freedom = sum(errors) ** 2 / (errors[0] ** 2 / 2 + errors[1] ** 2 / 2)
    assert found.bounds == near(by_t(centers[0] - centers[1], sqrt(sum(errors)), freedom))
    assert (found.value, found.rounds, found.same_within) == (
        found.bounds.value if found.bounds else 0,
        3,
        0.02,
    )
    assert found.value == pytest.approx(exp(centers[0] - centers[1]))
    more = ENERGY.ratio(*with_energy(bench, [6.0, 12.0, 18.0], [6.0, 6.0, 12.0, 6.0]))
    assert more is not None and (more.rounds, more.bounds is None) == (3, False)


def test_energy_of_fewer_rounds_is_a_ratio_without_bounds(bench: Any) -> None:
    for base, new in (
        with_energy(bench, [12.0], [12.0]),
        with_energy(bench, [6.0, 6.0], [3.0, 9.0]),
        with_energy(bench, [6.0, 6.0], [3.0, 3.0, 6.0]),
    ):
        found = ENERGY.ratio(base, new)
        assert found is not None
        assert found.value == pytest.approx(base.metrics.energy_per_sample_j / new.metrics.energy_per_sample_j)
        assert (found.bounds, found.verdict, found.same_within) == (None, UNSURE, 0.02)


def test_round_without_energy_leaves_no_bounds(bench: Any) -> None:
    found = ENERGY.ratio(*with_energy(bench, [0.0, 6.0, 12.0], [6.0, 6.0, 6.0]))
    assert found is not None and found.bounds is None


def test_energy_that_was_not_read_has_no_ratio(bench: Any) -> None:
    known, unknown = bench.results(
        bench.case(1, 10.0, end={"energy": Energy(energy_j=9.0)}), bench.case(2, 10.0)
    )
    assert ENERGY.ratio(known, unknown) is ENERGY.ratio(unknown, known) is None


def test_steadiness_is_the_ratio_of_jitters(bench: Any) -> None:
    base, new = bench.results(bench.case(1, [9.0, 11.0] * 10), bench.case(2, [9.5, 10.5] * 10))
    found = SLOW_STEPS.ratio(base, new)
    assert found is not None
    assert (found.value, found.bounds) == (pytest.approx(2.0), None)
    by_round = [[[10 - by, 10 + by] * 10 for by in each] for each in ((1, 2, 4), (0.5, 0.5, 0.5))]
    base, new, still = bench.results(
        *(bench.case(size, rounds=each) for size, each in enumerate((*by_round, [[10.0] * 6] * 3), 1))
    )
    found = SLOW_STEPS.ratio(base, new)
    assert found is not None and found.bounds is not None
    assert (found.value, found.rounds) == (pytest.approx(4.0), 3)
    assert found.bounds.low < 1 < found.bounds.high
    assert SLOW_STEPS.ratio(base, still) is SLOW_STEPS.ratio(still, base) is None


def test_rounds_that_stood_still_are_no_evidence_of_steadiness(bench: Any) -> None:
    base, new = bench.results(
        bench.case(1, rounds=[[9.0, 11.0] * 10, [10.0] * 20, [9.0, 11.0] * 10]),
        bench.case(2, rounds=[[9.0, 11.0] * 10] * 3),
    )
    found = SLOW_STEPS.ratio(base, new)
    assert found is not None and found.bounds is None


def test_memory_is_as_sure_as_the_peaks_of_rounds_are_alike(bench: Any) -> None:
    made = [
        bench.case(size, 10.0, end={"memory": Memory(peak_rss_mb=mb)}) for size, mb in ((1, 400.0), (2, 100.0))
    ]
    base, new = bench.results(*made)
    alike = memory_ratio(base, new)
    assert alike == Ratio(4.0, Bounds(4.0, 4.0, 4.0, 4.0, 4.0), same_within=0.02)
    assert alike is not None and alike.verdict is FASTER
    more = [
        RoundFinished(t=0.0, case=place, round=0, memory=Memory(peak_rss_mb=mb))
        for place, mb in ((0, 200.0), (1, 80.0))
    ]
    found = memory_ratio(*measured(bench.session(*made, more=more)))
    assert found == Ratio(4.0, Bounds(4.0, 2.0, 5.0, 2.0, 5.0), same_within=0.02)


def test_memory_that_was_not_read_has_no_ratio(bench: Any) -> None:
    known, unknown, none = bench.results(
        *(
            bench.case(size, 10.0, end={"memory": memory})
            for size, memory in ((1, Memory(peak_rss_mb=0.5)), (2, None), (4, Memory(peak_rss_mb=0.0)))
        )
    )
    for other in (unknown, none):
        assert memory_ratio(known, other) is memory_ratio(other, known) is None
    found = memory_ratio(known, known)
    assert found is not None and found.verdict is SAME


def test_compiling_breaks_even_once_the_first_step_is_repaid(bench: Any) -> None:
    eager, compiled, slower, wide, uncertain = bench.results(
        bench.case(1, 10.0),
        bench.case(1, 8.0, compile="default", warmup_ms=[1008.0, 8.0]),
        bench.case(1, 12.0, compile="reduce-overhead", warmup_ms=[1008.0, 12.0]),
        bench.case(1, 9.7, compile="max-autotune", warmup_ms=[1008.0, 12.0]),
        bench.case(1, [8.0], precision="bf16", warmup_ms=[1008.0, 8.0]),
    )
    assert break_even_steps(comparison(eager, compiled)) == 500
    for other in (slower, wide, uncertain):
        assert break_even_steps(comparison(eager, other)) is None
    later = bench.results(bench.case(1, 10.0), bench.case(1, 7.0, precision="bf16", warmup_ms=[1008.0]))
    assert break_even_steps(comparison(*later)) == 334  # 1001 / 3 = 333.67
    short = bench.results(bench.case(1, 1.0), bench.case(1, 0.5, precision="bf16", warmup_ms=[10.5]))
    assert break_even_steps(comparison(*short)) == 20
    pair = comparison(eager, compiled)
    assert break_even_steps(replace(pair, latency=None)) is None
    assert break_even_steps(replace(pair, base=replace(compiled, case=eager.case))) is None, "nothing is saved"
    assert break_even_steps(replace(pair, base=compiled)) is None


def test_what_replaces_compiling_breaks_even_on_what_it_costs_beyond(bench: Any) -> None:
    compiled, cheap, dear = bench.results(
        bench.case(1, 10.0, compile="default", warmup_ms=[1010.0, 10.0]),
        bench.case(1, 8.0, backend="openvino", warmup_ms=[508.0, 8.0]),
        bench.case(1, 8.0, backend="aoti", warmup_ms=[1508.0, 8.0]),
    )
    assert [break_even_steps(comparison(compiled, row)) for row in (cheap, dear)] == [0, 250]


def test_pairs_differ_in_the_option_alone(bench: Any) -> None:
    results = bench.results(
        bench.case(1, 10.0),
        bench.case(2, 18.0),
        bench.case(1, 6.0, precision="bf16"),
        bench.case(1, 5.0, precision="bf16", compile="default"),
        bench.case(1, 9.0),
    )
    assert matched(results, "precision", "fp32") == [(results[0], results[2])]
    assert matched(results, "precision", "fp16") == []
    assert matched(results[:2], "precision", "fp32") == []


@pytest.mark.parametrize("jitter", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("truth", [1.03, 1.05, 1.1, 1.2])
def test_a_slower_case_of_one_round_is_never_called_the_same_or_faster(jitter: float, truth: float) -> None:
    dice = random.Random(f"{jitter} {truth}")
    for _ in range(3):
        known = Noise(Spread(0.02**2, 12.0))
        base = by_steps(lognormal(1000, 10.0, jitter, dice), noise=known)
        new = by_steps(lognormal(1000, 10.0 * truth, jitter, dice), session=OTHER, noise=known)
        found = latency(base, new)
        wanted = (SLOWER,) if truth == 1.2 and jitter < 0.1 else (SLOWER, UNSURE)
        assert found.verdict in wanted
        assert latency(new, base).verdict is OPPOSITE[found.verdict]


@pytest.mark.parametrize("fast", [0.0, 0.02, 0.3])
def test_medians_of_rounds_nineteen_fold_apart_are_slower_whatever_a_few_steps_do(fast: float) -> None:
    """OMP_NUM_THREADS 1 against 2 on a loaded machine; the fastest steps said two times as fast."""
    dice = random.Random(1)
    base = [lognormal(200, ms, 0.3, dice) for ms in (1.7, 2.1, 2.6, 3.1, 3.6)]
    new = [
        [0.9 if dice.random() < fast else time for time in lognormal(200, ms, 0.3, dice)]
        for ms in (21.0, 27.0, 33.0, 38.0, 43.0)
    ]
    found = latency(by_steps(*base), by_steps(*new, session=OTHER))
    assert found.verdict is (SLOWER if fast < 0.25 else UNSURE)
    assert found.doubt is (None if fast < 0.25 else Doubt.STEPS)


def test_equal_cases_of_one_very_uneven_round_are_not_called_the_same() -> None:
    slow_at_last = [0.3] * 100 + [50.0] * 100
    found = latency(by_steps(slow_at_last), by_steps(slow_at_last, session=OTHER))
    assert found.low is not None and found.high is not None
    assert found.high / found.low > 37
    assert (found.verdict, found.doubt) == (UNSURE, Doubt.WIDE)
    assert found.resolution is not None and found.resolution > 5


def test_thirty_steps_of_the_cpu_demo_do_not_say_that_compiling_makes_no_difference() -> None:
    session = Session.load(demo_path(CPU_DEMO))
    found = [comparison(*pair) for pair in matched(measured(session), "compile", "off")]
    assert len(found) == 4
    assert {pair.verdict for pair in found} == {UNSURE}
    assert {pair.ratio.doubt for pair in found if pair.ratio} <= {Doubt.WIDE, Doubt.OUTSIDE}
    assert all(break_even_steps(pair) is None for pair in found)


@pytest.mark.parametrize(
    ("rounds", "with_fast", "fast"),
    [
        (1, 0, 1),
        (1, 1, 1),
        (1, 1, 5),
        (3, 1, 1),
        (3, 2, 1),
        (3, 3, 9),
        (5, 2, 1),
        (5, 3, 1),
        (5, 4, 1),
        (5, 5, 9),
    ],
)
def test_a_few_steps_at_boost_clock_do_not_hide_a_loss(rounds: int, with_fast: int, fast: int) -> None:
    """Rounds of 200 steps of 9.0 ms; then 10.5 ms, but for fast steps at the beginning of some rounds."""
    dice = random.Random(1)
    base = [lognormal(200, 9.0, 0.002, dice) for _ in range(rounds)]
    new = [lognormal(200, 10.5, 0.002, dice) for _ in range(rounds)]
    for turn in range(with_fast):
        new[turn][:fast] = [9.0] * fast
    known = Noise(Spread(0.001**2, 12.0))
    found = latency(by_steps(*base, noise=known), by_steps(*new, noise=known))
    assert (found.verdict, found.value) == (SLOWER, pytest.approx(9 / 10.5, rel=1e-3))
    assert found.bounds is not None
    assert found.bounds.sure_high < (0.95 if rounds == 1 else 0.86)


def drawn(rounds: int, typical_ms: float, between: float, dice: random.Random, noise: Noise) -> Evidence:
    """A case of fresh processes, each with 20 steps of 1% jitter."""
    return by_steps(
        *(lognormal(20, ms, 0.01, dice) for ms in lognormal(rounds, typical_ms, between, dice)), noise=noise
    )


@pytest.mark.parametrize(
    ("rounds", "noise"),
    [(1, Noise()), (2, Noise()), (3, Noise()), (4, Noise()), (3, Noise(Spread(0.02**2, 16.0))), (5, Noise())],
)
def test_intervals_cover_the_truth_and_equal_cases_are_rarely_called_different(
    rounds: int, noise: Noise
) -> None:
    dice, words, covered = random.Random(1), Counter[Verdict](), 0
    for _ in range(200):
        base, new = (drawn(rounds, 10.0, 0.02, dice, noise) for _ in range(2))
        found = latency(base, new)
        covered += found.low is not None and found.high is not None and found.low <= 1 <= found.high
        words[found.verdict] += 1
    assert covered >= 0.93 * 200
    assert words[FASTER] + words[SLOWER] <= 2


def test_a_true_difference_of_three_percent_is_seen_in_five_rounds() -> None:
    dice, words = random.Random(1), Counter[Verdict]()
    for _ in range(100):
        base, new = (drawn(5, ms, 0.005, dice, Noise()) for ms in (10.0, 10.3))
        words[latency(base, new).verdict] += 1
    assert words[SLOWER] >= 90
    assert words[FASTER] == words[SAME] == 0


def test_what_is_the_same_lies_within_the_margin_and_half_a_percent_is_not_a_word() -> None:
    exact = [10.0] * 4
    words = [latency(case(*exact), case(*(10 * by for _ in exact))).verdict for by in (1.004, 1.006, 1.0051)]
    assert words == [SAME, SLOWER, SLOWER]
    assert MIN_EFFECT == 0.005


CHANGED = ("changed: a.py (11111111; in case 1, 00000000)",)


@pytest.mark.parametrize(
    ("base", "new", "unlike"),
    [
        ((), CHANGED, True),
        (CHANGED, (), True),
        (CHANGED, CHANGED, False),
        (CHANGED, ("changed: a.py (22222222; in case 1, 00000000)",), True),
        ((f"{CHANGED[0]}, in 3 of 3 rounds",), (f"{CHANGED[0]}, in 3 of 3 rounds",), False),
        ((f"{CHANGED[0]}, in 1 of 3 rounds",), (f"{CHANGED[0]}, in 1 of 3 rounds",), True),
        ((*CHANGED, f"{CHANGED[0]}, in 1 of 3 rounds"),) * 2 + (True,),
        ((), ("disturbed: stalled for 3 s",), False),
    ],
)
def test_cases_of_one_session_with_other_files_have_no_verdict(
    bench: Any, base: tuple[str, ...], new: tuple[str, ...], unlike: bool
) -> None:
    cases = [bench.steady(size, size * 10.0, end={"marks": marks}) for size, marks in ((1, base), (4, new))]
    one, other = bench.results(*cases)
    pair = comparison(one, other)
    assert pair.latency is not None and pair.throughput is not None
    doubts = (pair.latency.doubt, pair.throughput.doubt)
    assert doubts == ((Doubt.FILES, Doubt.FILES) if unlike else (None, None))
    elsewhere = bench.results(bench.steady(4, 40.0, end={"marks": new}))[0]
    across = comparison(one, elsewhere).latency
    assert across is not None and across.doubt is not Doubt.FILES


def in_turns(
    *turns_ms: tuple[float, float],
    apart_s: float = 1.0,
    disturbed: int | None = None,
    noise: Noise | None = None,
    error: float = 0.0,
) -> tuple[Evidence, Evidence]:
    """Two cases with the medians of each turn; steps of a second, and between the two cases this pause."""
    pair = []
    for place, rounds in enumerate(zip(*turns_ms, strict=True)):
        around = [SHARED if number == disturbed and place else QUIET for number in range(len(rounds))]
        found = case(*rounds, around=around, noise=noise, error=error)
        starts = [number * 100.0 + place * (1 + apart_s) for number in range(len(rounds))]
        ends = [
            msgspec.structs.replace(end, measured_s=(start, start + 1))
            for end, start in zip(found.case.ends, starts, strict=True)
        ]
        found.case.rounds, found.case.finished = tuple(ends[:-1]), ends[-1]
        pair.append(found)
    return pair[0], pair[1]


DRIFT = [
    (10.0 * by, 9.5 * by * more)
    for by, more in zip((1, 1.2, 0.9, 1.1, 1, 1.3), (1, 1.01, 0.99) * 2, strict=True)
]


def test_rounds_in_turns_are_compared_pair_by_pair() -> None:
    found = latency(*in_turns(*DRIFT))
    logs = [log(one / other) for one, other in DRIFT]
    assert found.bounds == near(by_t(sum(logs) / 6, sqrt(spread(*logs) / 6), 5))
    assert (found.verdict, found.rounds, found.assumed) == (FASTER, 6, False)
    assert found.value == pytest.approx(10 / 9.5, rel=1e-3)


def test_rounds_three_seconds_apart_are_pairs_in_either_order() -> None:
    pair = in_turns(*DRIFT, apart_s=3.0)
    assert latency(*pair).bounds == latency(*in_turns(*DRIFT)).bounds
    assert latency(*reversed(pair)).verdict is SLOWER


def test_pairs_are_no_more_exact_than_their_steps() -> None:
    found = latency(*in_turns(*DRIFT, error=0.1))
    logs = [log(one / other) for one, other in DRIFT]
    assert found.bounds == near(by_t(sum(logs) / 6, sqrt(2 * 0.1**2 / 6), 5))


def test_rounds_next_to_a_neighbor_are_left_out_of_the_pairs() -> None:
    one, other = in_turns(*DRIFT[:2], (30.0, 1.0), *DRIFT[2:], disturbed=2)
    left_out = replace(other, rounds=other.rounds[:2] + other.rounds[3:])
    assert latency(one, left_out).bounds == latency(*in_turns(*DRIFT)).bounds


def test_pairs_without_times_have_no_ratio() -> None:
    for turn in ((0.0, 9.5), (9.5, 0.0)):
        times = latency_ratio(*in_turns(*DRIFT[:5], turn))
        assert times is None or times.bounds is None


def test_only_rounds_of_the_same_session_are_taken_from_its_spread() -> None:
    known = Noise(Spread(0.02**2, 20.0))
    one, elsewhere = (case(10.0, 10.1, 10.3, noise=known, session=each) for each in (ONE, OTHER))
    assert others_of(one, one, elsewhere) == others_of(one, one) != known.pool
    assert others_of(elsewhere, one) == known.pool
    assert others_of(one, case(10.0, noise=known)) == known.pool, "one round has no spread"
    assert others_of(one, case(10.0, 10.1, noise=known)) == known.pool.minus(
        Spread.of([Statistic(10.0), Statistic(10.1)])
    )


@pytest.mark.parametrize("apart_s", [3.1, 50.0])
def test_rounds_that_are_seconds_apart_are_not_pairs(apart_s: float) -> None:
    assert latency(*in_turns(*DRIFT, apart_s=apart_s)).verdict is UNSURE


def test_all_rounds_of_two_cases_must_be_pairs() -> None:
    one, other = in_turns(*DRIFT)
    other.case.finished = msgspec.structs.replace(other.case.ends[-1], measured_s=(900.0, 901.0))
    assert latency(one, other).verdict is UNSURE


def test_rounds_without_figures_make_no_pairs() -> None:
    one, other = in_turns(*DRIFT, DRIFT[0])
    assert latency(one, replace(other, rounds=other.rounds[1:])).verdict is UNSURE


def test_fewer_than_six_turns_are_not_pairs() -> None:
    assert latency(*in_turns(*DRIFT[:5])).verdict is UNSURE
    assert latency(*in_turns(*DRIFT, disturbed=2)).verdict is UNSURE
    assert latency(*in_turns(*DRIFT, DRIFT[0], disturbed=2)).verdict is FASTER
    one, other = in_turns(*DRIFT)
    assert latency(one, replace(other, session=OTHER)).verdict is UNSURE


def test_earlier_rounds_of_one_case_are_left_out_of_the_pairs() -> None:
    """A trial joined to a session adds rounds in turns to a case that was measured before, at another pace."""
    one, other = in_turns((40.0, 1.0), (40.0, 1.0), *DRIFT)
    other.case.rounds = other.case.rounds[2:]
    joined = replace(other, rounds=other.rounds[2:])
    found, plain = latency(one, joined), latency(*in_turns(*DRIFT))
    assert (found.bounds, found.verdict) == (plain.bounds, FASTER)
    assert latency(joined, one).bounds == latency(*reversed(in_turns(*DRIFT))).bounds


def alike(correlation: float) -> list[tuple[float, float]]:
    """Six rounds of two cases, by 1% faster, whose logarithms have a correlation."""
    one, other = (1, -1, 1, -1, 0, 0), (0, 0, 0, 0, sqrt(2), -sqrt(2))
    rest = sqrt(1 - correlation**2)
    pairs = zip(one, other, strict=True)
    return [(10.1 * exp(0.01 * x), 10 * exp(0.01 * (correlation * x + rest * y))) for x, y in pairs]


@pytest.mark.parametrize("noise", [None, Noise(Spread(0.02**2, 12.0)), Noise(Spread(0.2**2, 12.0))])
@pytest.mark.parametrize("turns", [DRIFT, alike(0.62), alike(1.0)])
def test_rounds_in_turns_that_vary_together_are_compared_pair_by_pair(
    turns: list[tuple[float, float]], noise: Noise | None
) -> None:
    logs = [log(one / other) for one, other in turns]
    expected = by_t(sum(logs) / 6, sqrt(spread(*logs) / 6), 5.0)
    assert latency(*in_turns(*turns, noise=noise)).bounds == near(expected)


@pytest.mark.parametrize("turns", [alike(0.60), alike(-1.0), [(10.1, 10 + by / 10) for by in range(6)]])
def test_other_rounds_in_turns_share_the_spread_of_their_session(turns: list[tuple[float, float]]) -> None:
    known, few, fewer, paces = (
        Noise(Spread(between**2, freedom))
        for between, freedom in ((0.02, 12.0), (0.02, 5.0), (0.02, 4.9), (0.06, 12.0))
    )
    close, apart = (latency(*in_turns(*turns, apart_s=apart_s, noise=known)) for apart_s in (1.0, 50.0))
    assert close.bounds == near(apart.bounds)
    logs = [log(one / other) for one, other in turns]
    mean, own = sum(logs) / 6, spread(*logs)
    assert latency(*in_turns(*turns, noise=few)).bounds == near(by_t(mean, 0.02 / sqrt(3), 5.0))
    for noise in (fewer, paces):
        assert latency(*in_turns(*turns, noise=noise)).bounds == near(by_t(mean, sqrt(own / 6), 5.0))


def test_too_few_steps_suffice_if_each_of_one_case_is_longer_than_all_of_the_other(bench: Any) -> None:
    slow, fast, overlapping, four = bench.results(
        bench.case(1, [20.0, 21.0, 22.0, 23.0, 24.0]),
        bench.case(2, [9.0, 10.0, 10.5, 11.0, 12.0]),
        bench.case(4, [9.0, 10.0, 10.5, 11.0, 20.5]),
        bench.case(8, [9.0, 10.0, 10.5, 11.0]),
    )
    found = latency(slow, fast)
    half, sure = (student_t_quantile(share, 3) * 0.022 * sqrt(2) for share in (0.975, 0.995))
    ends = [20 / 12 / exp(half), 24 / 9 * exp(half), 20 / 12 / exp(sure), 24 / 9 * exp(sure)]
    assert found.bounds == near(Bounds(22 / 10.5, *ends))
    assert (found.verdict, latency(fast, slow).verdict, found.rounds) == (FASTER, SLOWER, 1)
    alone = [replace(each, noise=Noise()) for each in (slow, fast)]
    assert latency(*alone).verdict is UNSURE, "at two paces, processes may differ by as much"
    (touching,) = bench.results(bench.case(32, [9.0, 10.0, 10.5, 11.0, 20.0]))
    for one in (overlapping, touching):
        assert latency(slow, one).doubt is latency(one, slow).doubt is Doubt.NO_INTERVAL
    (zero,) = bench.results(bench.case(16, [0.0, 10.0, 10.5, 11.0, 12.0]))
    assert latency(slow, zero).doubt is latency(zero, slow).doubt is Doubt.NO_INTERVAL
    assert latency(slow, four).doubt is Doubt.NO_INTERVAL, "2 of 126 equal pairs would look like that"


def test_separate_steps_of_several_rounds_share_the_spread_of_processes(bench: Any) -> None:
    slow, fast, longer, overlapping = bench.results(
        bench.case(1, rounds=[[0.20, 0.21, 0.22], [0.23, 0.24, 0.25]]),
        bench.case(2, rounds=[[0.10, 0.11, 0.12], [0.13, 0.14, 0.15]]),
        bench.case(3, rounds=[[0.10, 0.11], [0.13, 0.14], [0.15], [0.12]]),
        bench.case(4, rounds=[[0.10, 0.11, 0.30], [0.13, 0.14, 0.15]]),
    )
    noise = Noise(Spread(0.02**2, 20.0))
    slow, fast, longer, overlapping = (replace(each, noise=noise) for each in (slow, fast, longer, overlapping))
    found = latency(slow, fast)
    half, sure = (student_t_quantile(share, 4) * 0.02 for share in (0.975, 0.995))
    ends = [20 / 15 / exp(half), 25 / 10 * exp(half), 20 / 15 / exp(sure), 25 / 10 * exp(sure)]
    assert found.bounds == near(Bounds(sqrt(21 * 24 / 11 / 14), *ends))
    assert (found.verdict, found.rounds, found.between) == (FASTER, 2, pytest.approx(0.02))
    assert latency(slow, overlapping).doubt is Doubt.NO_INTERVAL
    other = latency(slow, longer)
    assert (other.rounds, other.between) == (2, pytest.approx(0.02 * sqrt(0.75)))
    assert found.bounds and other.bounds == near(
        by_t(0.0, 0.02 * sqrt(0.75), 4) * Bounds(other.value, 20 / 15, 25 / 10, 20 / 15, 25 / 10)
    )
    elsewhere = latency(slow, replace(fast, session=OTHER, noise=replace(noise, floor=0.01, same_within=0.03)))
    assert (elsewhere.same_within, elsewhere.floor, elsewhere.apart) == (0.03, 0.01, 2 * 0.003**2)
    assert elsewhere.bounds == near(
        by_t(0.0, sqrt(0.02**2 + 2 * 0.003**2), 4) * Bounds(found.value, 20 / 15, 25 / 10, 20 / 15, 25 / 10)
    )
    unknown = replace(fast, noise=Noise())
    assert not found.assumed and latency(slow, unknown).assumed and latency(unknown, slow).assumed

import random
from math import exp, inf, log, sqrt
from statistics import fmean, stdev

import numpy as np
import pytest

from benchtui.sessions.stats import sampling
from benchtui.sessions.stats.distribution import sample
from benchtui.sessions.stats.sampling import Bounds, Statistic, interval, log_mean_of_rounds

T_975 = {2: 4.302652729749462, 8: 2.306004135204166}
T_995 = {2: 9.924843200918287, 8: 3.355387331333395}
Z_975, Z_995 = 1.959963984540054, 2.5758293035489004


def some(times_ms: list[float]) -> sampling.Sample:
    found = sample(times_ms)
    assert found is not None
    return found


def jitter(times_ms: list[float]) -> float:
    """Return the standard deviation over the mean."""
    return float(np.std(times_ms, ddof=1) / np.mean(times_ms))


def shuffled(times_ms: list[float], seed: int = 1) -> list[float]:
    return random.Random(seed).sample(times_ms, len(times_ms))


def correlated(n: int, dice: random.Random) -> list[float]:
    """Steps of 10 ms and 2% of jitter, each near the one before."""
    times_ms, off = [], 0.0
    for _ in range(n):
        off = 0.9 * off + sqrt(1 - 0.9**2) * dice.gauss(0, 1)
        times_ms.append(10 * exp(0.02 * off))
    return times_ms


def test_figures_of_a_handful_of_steps() -> None:
    found = some([4.0, 2.0, 8.0, 6.0])
    assert (found.n, found.mean.ms, found.median.ms) == (4, 5.0, 5.0)
    assert found.tail is None, "it needs 20 steps"
    assert some(shuffled([10.0 + place for place in range(21)])).tail == pytest.approx(28.0 / 20.0 - 1)


def test_of_no_steps_there_is_no_sample_and_one_has_no_tail() -> None:
    assert sample([]) is None
    assert some([3.0]) == sampling.Sample(1, Statistic(3.0), Statistic(3.0), Statistic(3.0), None, (3.0, 3.0))
    assert some([3.0] * 20).tail == 0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 20, 63, 64, 101])
def test_quantiles_are_those_of_numpy(n: int) -> None:
    times_ms = shuffled([10 + 0.1 * place**1.5 for place in range(n)])
    found = some(times_ms)
    assert found.low is not None
    assert found.median.ms == pytest.approx(float(np.quantile(times_ms, 0.5)), rel=1e-14)
    assert found.low.ms == pytest.approx(float(np.quantile(times_ms, 0.25)), rel=1e-14)


@pytest.mark.parametrize(
    ("n", "median", "low"),
    [
        (6, (0, 5), (0, 4)),  # 2.5 -+ 2 sqrt(6 / 4), 1.25 -+ 2 sqrt(6 * 3 / 16)
        (20, (5, 14), (0, 9)),  # 9.5 -+ 2 sqrt(20 / 4), 4.75 -+ 2 sqrt(20 * 3 / 16)
        (63, (23, 39), (8, 23)),  # 31 -+ 2 sqrt(63 / 4), 15.5 -+ 2 sqrt(63 * 3 / 16)
    ],
)
def test_errors_of_quantiles_are_a_quarter_of_the_way_between_order_statistics(
    n: int, median: tuple[int, int], low: tuple[int, int]
) -> None:
    ordered = [10 + 0.1 * place**1.5 for place in range(n)]
    found = some(shuffled(ordered))
    assert found.low is not None
    for figure, share, (below, above) in ((found.median, 0.5, median), (found.low, 0.25, low)):
        distance = min(4, (above - below) / sqrt(n * share * (1 - share)))  # six steps have too few ranks
        assert figure.error == pytest.approx(log(ordered[above] / ordered[below]) / distance, rel=1e-12)


def test_five_steps_have_no_error_and_neither_have_times_of_zero() -> None:
    five = some([10.0, 11.0, 12.0, 13.0, 14.0])
    assert five.low is not None
    assert five.median.error is five.low.error is five.mean.error is None
    zeros = some([0.0] * 6)
    assert zeros.low is not None
    assert zeros.median.error is zeros.low.error is zeros.mean.error is zeros.tail is None
    one = some([0.0, 10.0, 10.0, 10.0, 10.0, 10.0])
    assert one.low is not None
    assert one.median.error is one.low.error is None
    assert one.mean.error is not None


def test_the_error_of_a_short_mean_is_the_jitter_over_the_root_of_the_steps() -> None:
    for n in (6, 63):
        times_ms = shuffled([10.0 + place for place in range(n)])
        found = some(times_ms)
        assert found.mean.error == pytest.approx(jitter(times_ms) / sqrt(n), rel=1e-12)


def test_few_steps_that_depend_on_their_neighbors_widen_their_errors_by_the_lag() -> None:
    """Halves of 20 steps at 10 and 11 ms: their shares and times have a lag of 17 / 20, 18 / 16 when
    corrected."""
    times_ms = [10.0 + place * 1e-6 for place in range(10)] + [11.0 + place * 1e-6 for place in range(10)]
    in_turns = [time for pair in zip(times_ms[:10], times_ms[10:], strict=True) for time in pair]
    found, turns = some(times_ms), some(in_turns)
    assert found.mean.error == pytest.approx(jitter(times_ms) / sqrt(20) * sqrt(1.95 / 0.05), rel=1e-6)
    assert turns.mean.error == pytest.approx(jitter(in_turns) / sqrt(20), rel=1e-12)


def test_a_lag_that_independent_steps_may_show_is_ignored() -> None:
    """Of 16 steps, lags up to 1 / 4 are: 1, 1, -1, -1 and so on have 0 / 16 at one step, and pairs more of
    them."""
    pairs, triples = ([1.0, 1.0, -1.0, -1.0] * 4, [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0] * 2)
    for signs, lag in ((pairs, 1 / 16), (triples, 9 / 16)):
        times_ms = [10 + sign / 10 for sign in signs]
        found = some(times_ms)
        corrected = (16 * lag + 1) / 12
        inflation = (1 + corrected) / (1 - corrected) if lag > 1 / 4 else 1.0
        assert found.mean.error == pytest.approx(jitter(times_ms) / 4 * sqrt(inflation), rel=1e-9)


def test_at_the_edge_of_a_mode_the_error_is_the_interval_between_ranks() -> None:
    """Eleven steps at 10 ms and nine at 13 ms: the median may as well lie in the other mode."""
    times_ms = shuffled(
        [10.0 + place / 1000 for place in range(11)] + [13.0 + place / 1000 for place in range(9)]
    )
    ordered, found = sorted(times_ms), some(times_ms)
    assert found.median.error == pytest.approx(log(ordered[14] / found.median.ms) / 2, rel=1e-12)
    assert found.low is not None and found.low.error is not None
    assert found.low.error < 0.001, "all of the ranks around it lie in one mode"


def test_from_eight_batches_of_eight_on_the_shares_of_batches_widen_the_errors_of_quantiles() -> None:
    """In ascending order four batches lie below the median and four above it, and two below the quartile."""
    ordered = [10 + 0.1 * place**1.5 for place in range(64)]
    found = some(ordered)
    assert found.low is not None
    # halves: variance of shares 8 * 0.25 / 7, over 0.25 / 8: 9.14; 31.5 -+ 2 sqrt(64 / 4 * 9.14)
    assert found.median.error == pytest.approx(log(ordered[56] / ordered[7]) / 4, rel=1e-12)
    # quarters: (2 * 0.5625 + 6 * 0.0625) / 7, over 3 / 16 / 8: 9.14; 15.75 -+ 2 sqrt(64 * 3 / 16 * 9.14)
    distance = 37 / sqrt(64 * 3 / 16 * 64 / 7)  # there are fewer ranks below it
    assert found.low.error == pytest.approx(log(ordered[37] / ordered[0]) / distance, rel=1e-12)


def test_batches_that_agree_leave_the_error_of_independent_steps() -> None:
    """Each batch of eight has two steps of every quarter, and a mean of its own that hardly differs."""
    turns = [10.0, 13.0, 11.0, 12.0, 10.0, 13.0, 11.0, 12.0]
    times_ms = [time + 0.01 * place for place, time in enumerate(turns * 8)]
    ordered, found = sorted(times_ms), some(times_ms)
    assert found.low is not None
    assert found.median.error == pytest.approx(log(ordered[40] / ordered[23]) / 4, rel=1e-12)
    assert found.low.error == pytest.approx(log(ordered[23] / ordered[8]) / 4, rel=1e-12)
    assert found.mean.error == pytest.approx(jitter(times_ms) / sqrt(64), rel=1e-12)


def test_steps_that_equal_a_quantile_are_not_below_it() -> None:
    below, above = [9 + place / 100 for place in range(26)], [11 + place / 100 for place in range(30)]
    batches = (
        *([*below[at : at + 6], 10.0, 10.0] for at in (0, 6, 12, 18)),
        [*below[24:], *above[:6]],
        above[6:],
    )
    times_ms = [time for batch in batches for time in batch]
    # shares 0.75 four times, 0.25 and three times 0: 4.54 times as wide; 31.5 -+ 2 sqrt(64 / 4 * 4.54)
    assert some(times_ms).median == Statistic(10.0, pytest.approx(log(above[49 - 34] / below[14]) / 4))


@pytest.mark.parametrize(("n", "batches", "size"), [(64, 8, 8), (100, 12, 8), (255, 31, 8), (300, 32, 9)])
def test_the_error_of_a_mean_is_that_of_its_batches_where_they_differ_more(
    n: int, batches: int, size: int
) -> None:
    times_ms = [1000.0 + place for place in range(n)]
    means = [1000 + size * batch + (size - 1) / 2 for batch in range(batches)]
    expected = stdev(means) / sqrt(batches) / fmean(times_ms)
    assert some(times_ms).mean.error == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [6, 200])
def test_errors_are_relative_whatever_the_unit(n: int) -> None:
    times_ms = correlated(n, random.Random(1))
    large, small = some(times_ms), some([time / 1000 for time in times_ms])
    assert large.low is not None and small.low is not None
    for one, other in ((large.median, small.median), (large.low, small.low), (large.mean, small.mean)):
        assert (other.ms, other.error) == pytest.approx((one.ms / 1000, one.error))
    assert small.tail == (large.tail and pytest.approx(large.tail))


def test_autocorrelated_steps_have_larger_errors_than_the_same_in_any_order() -> None:
    times_ms = correlated(1000, random.Random(1))
    near, mixed = some(times_ms), some(shuffled(times_ms))
    assert near.low is not None and mixed.low is not None
    for one, other in ((near.median, mixed.median), (near.low, mixed.low), (near.mean, mixed.mean)):
        assert one.ms == pytest.approx(other.ms, rel=1e-12)
        assert one.error is not None and other.error is not None
        assert 2 * other.error < one.error < 8 * other.error  # sqrt(19): an autocorrelation of 0.9
    assert near.tail == pytest.approx(mixed.tail)


def test_figures_are_plain_numbers() -> None:
    found = some([10.0 + place % 7 for place in range(100)])
    assert found.low is not None
    statistics = (found.median, found.low, found.mean)
    figures = [found.tail, *(figure for one in statistics for figure in (one.ms, one.error))]
    assert [type(figure) for figure in figures] == [float] * 7


def test_bounds_are_students_around_a_logarithm() -> None:
    found = Bounds.around(log(10), 0.01, 8)
    assert found.value == pytest.approx(10)
    assert (found.low, found.high) == pytest.approx((10 * exp(-0.01 * T_975[8]), 10 * exp(0.01 * T_975[8])))
    assert (found.sure_low, found.sure_high) == pytest.approx(
        (10 * exp(-0.01 * T_995[8]), 10 * exp(0.01 * T_995[8]))
    )


def test_bounds_have_their_least_half_width() -> None:
    found = Bounds.around(0.0, 0.01, 8, least=0.03)  # between 0.0231 and 0.0336
    assert (found.low, found.high) == pytest.approx((exp(-0.03), exp(0.03)))
    assert (found.sure_low, found.sure_high) == pytest.approx((exp(-0.01 * T_995[8]), exp(0.01 * T_995[8])))


def test_bounds_too_wide_for_a_float_are_infinite() -> None:
    found = Bounds.around(0.0, 1000.0, inf)
    assert (found.value, found.low, found.high, found.sure_low, found.sure_high) == (1, 0, inf, 0, inf)


def test_bounds_in_another_unit_over_and_wider() -> None:
    bounds = Bounds(2.0, 1.6, 2.5, 1.0, 4.0)
    assert bounds.times(10) == Bounds(20.0, 16.0, 25.0, 10.0, 40.0)
    assert bounds.over() == Bounds(0.5, 0.4, 0.625, 0.25, 1.0)
    assert bounds.wider(2.0, 3.0) == Bounds(2.0, 0.8, 7.5, 0.5, 12.0)
    assert bounds * Bounds(10.0, 5.0, 20.0, 2.0, 30.0) == Bounds(20.0, 8.0, 50.0, 2.0, 120.0)
    assert Bounds(1.0, 0.0, 2.0, 0.0, 4.0).over() == Bounds(1.0, 0.5, inf, 0.25, inf)
    assert bounds.half_width_percent == pytest.approx(22.5)
    assert Bounds(0.0, 0.0, 1.0, 0.0, 1.0).half_width_percent is None


def test_over_rounds_the_logarithms_spread_decides() -> None:
    center, variance, freedom = log_mean_of_rounds(
        [Statistic(9.0, 0.001), Statistic(10.0, 0.001), Statistic(11.0, 0.001)]
    )
    logs = [log(9), log(10), log(11)]
    assert (center, freedom) == (pytest.approx(fmean(logs)), 2)
    assert variance == pytest.approx(stdev(logs) ** 2 / 3)


def test_rounds_that_agree_are_as_exact_as_their_steps() -> None:
    center, variance, freedom = log_mean_of_rounds([Statistic(10.0, 0.03), Statistic(10.0, 0.04)])
    assert (center, freedom) == (pytest.approx(log(10)), 1)
    assert variance == pytest.approx((0.03**2 + 0.04**2) / 4)
    assert log_mean_of_rounds([Statistic(10.0, 0.03)] * 3)[1] == pytest.approx(0.03**2 / 3)
    assert log_mean_of_rounds([Statistic(10.0), Statistic(10.0)])[1] == 0


def test_one_round_shows_what_its_own_process_does() -> None:
    found = interval([Statistic(10.0, 0.01)])
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx(
        (10, 10 * exp(-0.01 * Z_975), 10 * exp(0.01 * Z_975))
    )
    assert (found.sure_low, found.sure_high) == pytest.approx((10 * exp(-0.01 * Z_995), 10 * exp(0.01 * Z_995)))


def test_steps_without_any_spread_have_an_interval_of_no_width() -> None:
    found = interval([Statistic(0.5, 0.0)])
    assert found is not None
    assert (found.low, found.high, found.sure_low, found.sure_high) == pytest.approx((0.5,) * 4)


def test_two_rounds_are_covered_by_the_widest_of_both() -> None:
    found = interval([Statistic(10.0, 0.01), Statistic(12.1, 0.02)])
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx(
        (11, 10 * exp(-0.01 * Z_975), 12.1 * exp(0.02 * Z_975))
    )
    assert (found.sure_low, found.sure_high) == pytest.approx(
        (10 * exp(-0.01 * Z_995), 12.1 * exp(0.02 * Z_995))
    )


def test_three_rounds_go_by_their_own_spread() -> None:
    logs = [log(9), log(10), log(11)]
    error = stdev(logs) / sqrt(3)
    found = interval([Statistic(9.0), Statistic(10.0), Statistic(11.0)])
    assert found is not None
    assert found.value == pytest.approx(exp(fmean(logs)))
    assert found.low == pytest.approx(exp(fmean(logs) - T_975[2] * error))
    assert found.sure_high == pytest.approx(exp(fmean(logs) + T_995[2] * error))


@pytest.mark.parametrize(
    "figures",
    [
        [],
        [Statistic(10.0)],
        [Statistic(10.0, 0.01), Statistic(10.0)],
        [Statistic(0.0, 0.01)],
        [Statistic(10.0, 0.01), Statistic(10.0, 0.01), Statistic(0.0, 0.01)],
        [Statistic(-1.0, 0.01)],
    ],
)
def test_without_rounds_errors_or_times_there_is_no_interval(figures: list[Statistic]) -> None:
    assert interval(figures) is None


@pytest.mark.parametrize(("rounds", "n", "between"), [(1, 64, 0.0), (3, 10, 0.02), (5, 10, 0.02)])
def test_intervals_cover_the_truth_as_often_as_they_say(rounds: int, n: int, between: float) -> None:
    dice, found = random.Random(1), []
    for _ in range(400):
        typical = [10 * exp(between * dice.gauss(0, 1)) for _ in range(rounds)]
        samples = [some([ms * exp(0.02 * dice.gauss(0, 1)) for _ in range(n)]) for ms in typical]
        bounds = interval([each.median for each in samples])
        assert bounds is not None
        found.append((bounds.low <= 10 <= bounds.high, bounds.sure_low <= 10 <= bounds.sure_high))
    covered, surely = (fmean(each) for each in zip(*found, strict=True))
    assert covered >= 0.93
    assert surely >= 0.97


def test_more_steps_and_more_rounds_make_an_interval_narrower() -> None:
    dice = random.Random(1)
    times_ms = [10 * exp(0.02 * dice.gauss(0, 1)) for _ in range(3000)]
    ten, hundred, thousand = (some(times_ms[:n]).median.error or 0.0 for n in (10, 100, 1000))
    assert ten > 1.5 * hundred > 2.5 * thousand > 0
    three, thirty = (interval([Statistic(ms) for ms in [9.8, 10.0, 10.2] * times]) for times in (1, 10))
    assert three is not None and thirty is not None
    assert three.high - three.low > 5 * (thirty.high - thirty.low)  # 4.3 / sqrt(3) against 2.05 / sqrt(30)


@pytest.mark.parametrize("ends", [(0.0, inf), (0.5, 2.0), (1.0, 1.0)])
def test_another_error_never_narrows_bounds(ends: tuple[float, float]) -> None:
    own = Bounds(1.0, *ends, *ends)
    wider = own.with_error(0.1)
    assert wider.low <= own.low and wider.high >= own.high and wider.value == 1.0
    assert own.with_error(0.0).high == pytest.approx(own.high)

from math import exp, log, sqrt
from typing import Any

import pytest

from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.payloads import Environment, ProcessSpread
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.evidence import Evidence
from benchtui.sessions.stats.noise import Noise, kind_of, noise_of, spread_between
from benchtui.sessions.stats.sampling import Sample, Statistic
from benchtui.sessions.sweep import Config

QUIET, BUSY = Environment(processors=2), Environment(processors=2, gpu_processes=1)
HOT = Environment(processors=2, throttle=("hw_thermal",))


def case(
    *rounds_ms: float, error: float | None = None, device: str = "cpu", ends: tuple[Environment, ...] = ()
) -> Evidence:
    """A case by the medians of its rounds, and what went on around each."""
    state = CaseState(index=0, config=Config(device=device))
    *before, last = ends or (QUIET,)
    state.rounds = tuple(RoundFinished(t=0.0, case=0, round=0, environment=each) for each in before)
    state.finished = CaseFinished(t=0.0, case=0, outcome="ok", environment=last)
    figures = (Statistic(ms, error) for ms in rounds_ms)
    return Evidence(state, tuple(Sample(20, figure, figure, figure) for figure in figures))


def cpu(*cases: Evidence, aa: tuple[Evidence, Evidence] | None = None, **more: Any) -> Noise:
    return noise_of(cases, aa, more.pop("earlier", {}), **more)["cpu"]


def between(*weighed: tuple[float, float]) -> float:
    """Pooled standard deviation of variances with their degrees of freedom, the assumption among them."""
    known = (*weighed, (0.02**2, 4))
    return sqrt(sum(variance * freedom for variance, freedom in known) / sum(freedom for _, freedom in known))


def test_of_nothing_an_assumption_is_known_for_both_kinds_of_devices() -> None:
    known = Noise(between=0.02, freedom=4.0, measured=False, floor=None, same_within=0.02)
    assert noise_of([], None, {}) == {"cpu": known, "cuda": known}
    assert Noise() == known


def test_more_is_assumed_of_the_processors_of_a_virtual_machine() -> None:
    found = noise_of([case(10.0, 10 * exp(0.1))], None, {}, virtual=True)
    assert found["cpu"].between == pytest.approx(sqrt((0.1**2 * 4 + 0.005) / 5))
    assert (found["cpu"].freedom, found["cuda"]) == (5, Noise())
    assert noise_of([], None, {}, virtual=True)["cpu"] == Noise(between=0.1)


def test_a_case_of_one_round_tells_nothing() -> None:
    assert cpu(case(10.0), case(20.0)) == Noise()


def test_rounds_outweigh_the_assumption_by_their_degrees_of_freedom() -> None:
    one = cpu(case(10.0, 10 * exp(0.1)))  # variance 0.1 ** 2 / 2
    assert (one.between, one.freedom, one.measured) == (pytest.approx(between((0.005, 1))), 5, True)
    two = cpu(case(10.0, 10 * exp(0.1)), case(30.0, 30 * exp(0.01), 30 * exp(-0.01)), case(5.0))
    assert (two.between, two.freedom) == (pytest.approx(between((0.005, 1), (0.0001, 2))), 7)


def test_each_kind_of_device_has_noise_of_its_own() -> None:
    found = noise_of([case(10.0, 11.0, device="cuda:0"), case(10.0, 11.0, device="cuda:1")], None, {})
    assert (found["cpu"].freedom, found["cuda"].freedom) == (4, 6)
    assert noise_of([case(10.0, device="unknown")], None, {})["unknown"] == Noise()


@pytest.mark.parametrize(
    ("device", "kind"), [("cpu", "cpu"), ("cuda:0", "cuda"), ("cuda:12", "cuda"), ("unknown", "unknown")]
)
def test_a_device_without_its_number_is_a_kind(device: str, kind: str) -> None:
    assert kind_of(CaseState(index=0, config=Config(device=device))) == kind


def test_rounds_that_agree_leave_the_noise_of_their_steps() -> None:
    found = cpu(case(10.0, 10.0, error=0.03))
    assert found.between == pytest.approx(between((0.03**2, 1)))


def test_pooled_variance_goes_by_degrees_of_freedom() -> None:
    pairs = (
        [Statistic(10.0), Statistic(10 * exp(0.1))],
        [Statistic(1.0), Statistic(exp(0.02)), Statistic(exp(0.04))],
    )
    assert spread_between(pairs) == (pytest.approx((0.005 + 2 * 0.0004) / 3), 3)
    assert spread_between([*pairs, [Statistic(5.0)], [Statistic(0.0), Statistic(1.0)]]) == spread_between(pairs)
    assert spread_between([[Statistic(0.5), Statistic(0.5 * exp(0.1))]]) == (pytest.approx(0.005), 1)
    assert spread_between([[Statistic(5.0)], []]) == (0, 0)


def test_a_case_that_was_disturbed_in_any_round_does_not_count() -> None:
    quiet = case(10.0, 10.1, 10.2, ends=(QUIET, QUIET, QUIET))
    throttled = case(10.0, 15.0, 10.2, ends=(QUIET, HOT, QUIET))
    assert cpu(quiet, throttled) == cpu(quiet) != cpu(quiet, case(10.0, 15.0, 10.2))
    assert cpu(throttled) == cpu(case(10.0, 15.0, ends=(BUSY, BUSY))) == Noise()


def test_earlier_sessions_of_the_machine_count_for_their_kind() -> None:
    earlier = {"cuda": ProcessSpread(between=0.01, freedom=6.0)}
    found = noise_of([case(10.0, 10 * exp(0.1), device="cuda:0")], None, earlier)
    assert found["cpu"] == Noise()
    assert found["cuda"].between == pytest.approx(between((0.005, 1), (0.01**2, 6)))
    assert (found["cuda"].freedom, found["cuda"].measured) == (11, True)
    alone = noise_of([], None, earlier)["cuda"]
    assert (alone.between, alone.freedom, alone.measured) == (pytest.approx(between((0.01**2, 6))), 10, True)


def test_the_aa_pair_is_a_repeat_where_there_are_no_rounds() -> None:
    pair = case(10.0), case(10 * exp(-0.1))
    found = cpu(*pair, aa=pair)
    assert found.floor == pytest.approx(0.1)
    assert (found.between, found.freedom, found.measured) == (pytest.approx(between((0.005, 1))), 5, True)


def test_the_aa_pair_has_rounds_of_its_own_where_any_case_has() -> None:
    pair = case(10.0, 10.0), case(12.0, 12.0)
    found = cpu(*pair, aa=pair)
    assert (found.between, found.freedom) == (pytest.approx(between((0, 2))), 6)
    assert found.floor == pytest.approx(log(1.2))
    pair = case(10.0), case(12.0)
    found = cpu(*pair, case(9.0, 9.0), aa=pair)
    assert (found.between, found.freedom) == (pytest.approx(between((0, 1))), 5)


def test_the_floor_is_between_the_typical_steps_of_several_rounds() -> None:
    pair = case(10.0, 14.4), case(9.0, 16.0, 25.0, 6.0)  # 12, and the fourth root of 21600
    assert cpu(aa=pair).floor == pytest.approx(abs(log(12) - log(21600) / 4))
    pair = case(10.0, 14.4, error=0.3), case(12.0)
    assert cpu(aa=pair).between == pytest.approx(between((0.3**2 / 2 / 2, 1)))  # the mean of two is more exact


def test_the_floor_of_short_steps_is_as_relative() -> None:
    pair = case(0.1, 0.144), case(0.09)
    assert cpu(aa=pair).floor == pytest.approx(log(4 / 3))
    assert cpu(aa=(pair[1], pair[0])).floor == pytest.approx(log(4 / 3))


def test_the_floor_is_that_of_the_device_of_the_pair() -> None:
    pair = case(10.0, device="cuda:0"), case(11.0, device="cuda:0")
    found = noise_of([], pair, {})
    assert found["cuda"].floor == pytest.approx(log(1.1))
    assert found["cpu"] == Noise()


@pytest.mark.parametrize(
    "pair",
    [
        (case(), case(10.0)),
        (case(10.0), case()),
        (case(0.0), case(10.0)),
        (case(10.0), case(0.0)),
        (case(0.0, 10.0), case(10.0)),
    ],
)
def test_a_pair_without_times_is_no_pair(pair: tuple[Evidence, Evidence]) -> None:
    assert cpu(aa=pair) == Noise()


@pytest.mark.parametrize(
    ("floor", "same_within", "margin"),
    [
        (None, 0.02, 0.02),
        (None, 0.03, 0.03),
        (0.0, 0.02, 0.02),
        (0.01, 0.02, 0.02),
        (0.0125, 0.02, 0.025),
        (0.024, 0.02, 0.048),
        (0.03, 0.02, 0.05),
        (5.0, 0.02, 0.05),
        (5.0, 0.08, 0.08),
    ],
)
def test_the_margin_grows_with_the_floor_up_to_a_limit(
    floor: float | None, same_within: float, margin: float
) -> None:
    assert Noise(floor=floor, same_within=same_within).margin == pytest.approx(margin)


def test_the_reader_has_the_margin_he_wants() -> None:
    assert cpu(same_within=0.1).same_within == cpu(same_within=0.1).margin == 0.1

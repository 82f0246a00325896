from collections.abc import Iterable
from math import exp, log
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.payloads import Environment, ProcessSpread, StepCost
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.evidence import bounds_ms
from benchtui.sessions.stats.noise import (
    ASSUMED,
    ASSUMED_GPU_BOUND,
    GPU_BOUND,
    Evidence,
    Noise,
    Spread,
    gpu_busy_share,
    is_noisier,
    kind_of,
    kind_of_result,
    moderated,
    noise_by_kind,
    spread_between,
)
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


def noise_of(
    cases: Iterable[Evidence],
    aa: tuple[Evidence, Evidence] | None,
    earlier: dict[str, ProcessSpread],
    **more: Any,
) -> dict[str, Noise]:
    medians = ((each.case, [round_.median for round_ in each.rounds]) for each in cases)
    return noise_by_kind(medians, aa, earlier, **more)


def cpu(*cases: Evidence, aa: tuple[Evidence, Evidence] | None = None, **more: Any) -> Noise:
    return noise_of(cases, aa, more.pop("earlier", {}), **more)["cpu"]


def pool(*weighed: tuple[float, float]) -> Spread:
    """Pool of variances with their degrees of freedom."""
    freedom = sum(freedom for _, freedom in weighed)
    return Spread(pytest.approx(sum(variance * freedom for variance, freedom in weighed) / freedom), freedom)


def test_of_nothing_an_assumption_is_known_for_each_kind() -> None:
    assert noise_of([], None, {}) == {
        "cpu": Noise(),
        "cuda": Noise(),
        GPU_BOUND: Noise(assumed=ASSUMED_GPU_BOUND),
    }
    virtual = noise_of([], None, {}, virtual=True)
    assert {kind: noise.between_sessions for kind, noise in virtual.items()} == {
        "cpu": 0.02,
        "cuda": 0.02,
        GPU_BOUND: 0.003,
    }
    assert (Noise().pool, Noise().floor, Noise().same_within) == (Spread(0.0, 0.0), None, 0.02)
    assert (Noise().between, Noise().freedom(1), Noise().known) == (0.12, 4.0, False)


def test_twelve_degrees_of_freedom_replace_the_assumption() -> None:
    few, known = (Noise(Spread(0.01**2, freedom)) for freedom in (11.9, 12.0))
    assert (few.between, few.freedom(1), few.known) == (0.12, 4.0, False)
    assert (known.between, known.freedom(1), known.known) == (pytest.approx(0.01), 3.0, True)
    assert known.freedom(2) == 4.0, "the moderated spread of three rounds has 5"
    assert Noise(Spread(0.3**2, 2.0)).between == pytest.approx(0.3), "more than what is assumed was seen"


def test_a_case_of_several_rounds_is_noisier_by_an_f_test() -> None:
    """F of 2 and 12, 4 and 20 degrees of freedom at 5%: 3.89 and 2.87."""
    for freedom, others, limit in ((2.0, 12.0, 3.89), (4.0, 20.0, 2.87), (1.0, 30.0, 4.17)):
        pooled = Spread(1e-4, others)
        assert not is_noisier(Spread(0.96e-4 * limit, freedom), pooled)
        assert is_noisier(Spread(1.04e-4 * limit, freedom), pooled)
    assert is_noisier(Spread(1e-9, 2.0), Spread(0.0, 8.0))
    assert not is_noisier(Spread(0.0, 2.0), Spread(0.0, 8.0))
    assert not is_noisier(Spread(9.0, 0.0), Spread(1.0, 8.0))
    assert not is_noisier(Spread(9.0, 2.0), Spread(1.0, 0.0))


def test_a_part_of_a_pool_can_be_left_out() -> None:
    whole = Spread(1.0, 4.0).plus(Spread(4.0, 2.0))
    assert whole == Spread(2.0, 6.0)
    assert whole.minus(Spread(4.0, 2.0)) == Spread(1.0, 4.0)
    assert whole.minus(Spread(9.0, 2.0)) == Spread(0.0, 4.0)
    assert whole.minus(whole) == Spread() == Spread().plus(Spread())


def test_mean_of_several_rounds_varies_less() -> None:
    assert Spread(4e-4, 2.0).of_mean(4) == Spread(1e-4, 2.0)


def test_a_case_of_one_round_tells_nothing() -> None:
    assert cpu(case(10.0), case(20.0)) == Noise()


def test_rounds_count_by_their_degrees_of_freedom() -> None:
    one = cpu(case(10.0, 10 * exp(0.1)))  # variance 0.1 ** 2 / 2
    assert one.pool == pool((0.005, 1))
    two = cpu(case(10.0, 10 * exp(0.1)), case(30.0, 30 * exp(0.01), 30 * exp(-0.01)), case(5.0))
    assert two.pool == pool((0.005, 1), (0.0001, 2))


def test_each_kind_of_device_has_noise_of_its_own() -> None:
    found = noise_of([case(10.0, 11.0, device="cuda:0"), case(10.0, 11.0, device="cuda:1")], None, {})
    assert (found["cpu"].pool.freedom, found["cuda"].pool.freedom) == (0, 2)
    assert noise_of([case(10.0, device="unknown")], None, {})["unknown"] == Noise()


@pytest.mark.parametrize(
    ("device", "kind"), [("cpu", "cpu"), ("cuda:0", "cuda"), ("cuda:12", "cuda"), ("unknown", "unknown")]
)
def test_a_device_without_its_number_is_a_kind(device: str, kind: str) -> None:
    assert kind_of(CaseState(index=0, config=Config(device=device)), ()) == kind


def gpu_bound(*rounds_ms: float, error: float | None = None, counted: int = 512) -> Evidence:
    """A case on a GPU that was busy for 40 ms in its counted step."""
    found = case(*rounds_ms, error=error, device="cuda:0", ends=(QUIET,) * len(rounds_ms))
    cost = StepCost(busy_ms=40.0, padded_tokens=counted, typical_padded_tokens=512)
    assert found.case.finished
    found.case.finished = replace(found.case.finished, work=cost)
    return found


def test_where_a_gpu_sets_the_pace_fresh_processes_hardly_differ() -> None:
    assert kind_of_result(gpu_bound(42.0)) == GPU_BOUND
    assert kind_of_result(gpu_bound(42.0, 48.0)) == "cuda", "the host slowed one of its processes down"
    assert kind_of_result(gpu_bound(42.0, counted=1024)) == "cuda", "the counted step isn't a typical one"
    host_bound = case(5.8, 10.1, 9.9, device="cuda:0")
    found = noise_of([gpu_bound(42.0, 42.1), host_bound], None, {})
    assert (found[GPU_BOUND].between, found["cuda"].between > ASSUMED) == (ASSUMED_GPU_BOUND, True)
    alone, paced = (
        [replace(each, noise=noise_of([each], None, {})[kind_of_result(each)])]
        for each in (case(42.0, error=0.001, device="cuda:0"), gpu_bound(42.0, error=0.001))
    )
    bounds = [bounds_ms(each) for each in (*alone, *paced)]
    assert all(bounds)
    assert [round(each.high / each.low, 2) for each in bounds if each] == [1.95, 1.18]


@pytest.mark.parametrize(
    ("step_ms", "share", "kind"),
    [
        (20.0, 1.0, GPU_BOUND),
        (40 / 0.9, 0.9, GPU_BOUND),
        (50.0, 0.8, "cuda"),
        (0.5, 1.0, GPU_BOUND),
        (0.0, None, "cuda"),
        (None, None, "cuda"),
    ],
)
def test_gpu_sets_the_pace_from_nine_tenths_of_a_step_on(
    step_ms: float | None, share: float | None, kind: str
) -> None:
    case = gpu_bound(42.0).case
    assert gpu_busy_share(case, step_ms) == share
    assert kind_of(case, [] if step_ms is None else [Statistic(step_ms)]) == kind


@pytest.mark.parametrize(("percent", "kind"), [(90, GPU_BOUND), ("95.5", GPU_BOUND), (89, "cuda"), (0, "cuda")])
def test_exported_case_tells_how_busy_its_gpu_was(percent: float | str, kind: str) -> None:
    exported = case(42.0, device="cuda:0").case
    assert exported.finished
    exported.finished = replace(exported.finished, exported={"gpu_busy_percent": percent})
    assert kind_of(exported, [Statistic(42.0)]) == kind


def test_rounds_that_agree_leave_the_noise_of_their_steps() -> None:
    found = cpu(case(10.0, 10.0, error=0.03))
    assert found.pool == pool((0.03**2, 1))


def test_pooled_variance_goes_by_degrees_of_freedom() -> None:
    pairs = (
        [Statistic(10.0), Statistic(10 * exp(0.1))],
        [Statistic(1.0), Statistic(exp(0.02)), Statistic(exp(0.04))],
    )
    assert spread_between(pairs) == pool((0.005, 1), (0.0004, 2))
    assert spread_between([*pairs, [Statistic(5.0)], [Statistic(0.0), Statistic(1.0)]]) == spread_between(pairs)
    assert spread_between([[Statistic(0.5), Statistic(0.5 * exp(0.1))]]) == pool((0.005, 1))
    assert spread_between([[Statistic(5.0)], []]) == Spread()


def test_disturbed_rounds_do_not_count() -> None:
    quiet = case(10.0, 10.1, 10.2, ends=(QUIET, QUIET, QUIET))
    for around in (HOT, BUSY):
        disturbed = case(10.0, 15.0, 10.2, ends=(QUIET, around, QUIET))
        assert cpu(quiet, disturbed) == cpu(quiet, case(10.0, 10.2)) != cpu(quiet, case(10.0, 15.0, 10.2))
    assert cpu(case(10.0, 15.0, ends=(QUIET, BUSY)), case(10.0, 15.0, ends=(BUSY, BUSY))) == Noise()


def test_earlier_sessions_of_the_machine_count_for_their_kind_until_this_one_has_enough() -> None:
    earlier = {"cuda": ProcessSpread(between=0.01, freedom=6.0)}
    found = noise_of([case(10.0, 10 * exp(0.1), device="cuda:0")], None, earlier)
    assert found["cpu"] == Noise()
    assert found["cuda"].pool == pool((0.005, 1), (0.01**2, 6))
    assert noise_of([], None, earlier)["cuda"].pool == pool((0.01**2, 6))
    many = [case(10.0, 10 * exp(0.1), device="cuda:0")] * 12
    assert noise_of(many[1:], None, earlier)["cuda"].pool.freedom == 17
    assert noise_of(many, None, earlier)["cuda"].pool == pool((0.005, 12))


def test_the_aa_pair_is_a_repeat_where_there_are_no_rounds() -> None:
    pair = case(10.0), case(10 * exp(-0.1))
    found = cpu(*pair, aa=pair)
    assert found.floor == pytest.approx(0.1)
    assert found.pool == pool((0.005, 1))


def test_the_aa_pair_has_rounds_of_its_own_where_any_case_has() -> None:
    pair = case(10.0, 10.0), case(12.0, 12.0)
    found = cpu(*pair, aa=pair)
    assert found.pool == Spread(0.0, 2.0)
    assert found.floor == pytest.approx(log(1.2))
    pair = case(10.0), case(12.0)
    assert cpu(*pair, case(9.0, 9.0), aa=pair).pool == Spread(0.0, 1.0)


def test_the_floor_is_between_the_typical_steps_of_several_rounds() -> None:
    pair = case(10.0, 14.4), case(9.0, 16.0, 25.0, 6.0)  # 12, and the fourth root of 21600
    assert cpu(aa=pair).floor == pytest.approx(abs(log(12) - log(21600) / 4))
    pair = case(10.0, 14.4, error=0.3), case(12.0)
    assert cpu(aa=pair).pool == pool((0.3**2 / 2 / 2, 1))  # the mean of two is more exact


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


def test_shared_spread_is_known_no_better_than_that_of_the_session() -> None:
    pool = Spread(1e-4, 12.0)
    assert Spread(4e-4, 2.0).shared_with(pool) == Spread(pytest.approx(2.35e-4), pytest.approx(2 / 0.45))
    assert Spread(4e-4, 9.0).shared_with(pool).freedom == 12.0


def test_spread_at_the_limit_is_one_pace_still() -> None:
    limit, beyond = Spread(0.05**2, 12.0), Spread(0.0501**2, 12.0)
    assert (limit.has_paces, beyond.has_paces) == (False, True)
    own = Spread(4e-4, 2.0)
    assert moderated(own, limit, limit) == own.shared_with(limit)
    assert moderated(Spread(4e-4, 1.0), limit, limit) is None, "two rounds"
    assert moderated(own, beyond, beyond) == Spread(beyond.variance, 2.0)
    few, enough = (Spread(1e-4, freedom) for freedom in (5.9, 6.0))
    assert (moderated(own, few, few), moderated(own, enough, enough)) == (None, own), "others show the paces"

from math import hypot, log, sqrt
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.payloads import Energy, Environment, ProcessSpread, Reported
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.distribution import sample
from benchtui.sessions.stats.evidence import (
    aa_pair,
    bounds_ms,
    counted,
    medians_of,
    others_of_pair,
    outliers_of,
    rate_bounds,
    repeats,
    rounds_of,
    typical_ms,
    typical_of_rounds,
    with_noise,
)
from benchtui.sessions.stats.noise import Evidence
from benchtui.sessions.stats.sampling import Sample, Statistic


def evidence(session: Session) -> list[Evidence]:
    return with_noise((Evidence(case, rounds_of(case)) for case in session.cases), session)


def test_each_round_is_summed_up_by_its_own_steps(bench: Any) -> None:
    rounds = [[10.0, 10.2, 10.4], [9.0] * 6]
    (case,) = bench.session(bench.case(rounds=rounds)).cases
    assert rounds_of(case) == tuple(sample(times) for times in rounds)


def test_rounds_that_were_summed_up_before_are_those(bench: Any) -> None:
    (case,) = bench.session(bench.case(rounds=[[10.0, 10.2, 10.4], [9.0] * 6])).cases
    before = rounds_of(case)
    case.metrics = metrics(case)
    case.drop_steps()
    assert not len(case.measured)
    assert rounds_of(case) == before


@pytest.mark.parametrize("end", [{}, {"reported": Reported(steps=20)}])
def test_without_steps_or_figures_there_are_no_rounds(bench: Any, end: dict[str, Any]) -> None:
    assert rounds_of(bench.session(bench.case(end=end)).cases[0]) == ()
    assert rounds_of(bench.session(bench.case(outcome=None)).cases[0]) == ()


def test_steps_go_before_what_a_source_says(bench: Any) -> None:
    (case,) = bench.session(bench.case(ms=[2.0], end={"reported": Reported(latency_mean_ms=99.0)})).cases
    assert [each.median.ms for each in rounds_of(case)] == [2.0]


def test_a_source_without_steps_has_its_typical_step_or_the_mean_of_each_repeat(bench: Any) -> None:
    whole = Reported(steps=20, latency_mean_ms=10.0)
    assert repeats(whole) == (Sample(n=20, median=Statistic(10.0), low=None, mean=Statistic(10.0)),)
    several = Reported(latency_mean_ms=10.0, repeats_mean_ms=(9.0, 11.0))
    assert repeats(several) == tuple(
        Sample(n=0, median=Statistic(ms), low=None, mean=Statistic(ms)) for ms in (9.0, 11.0)
    )
    assert rounds_of(bench.session(bench.case(end={"reported": several})).cases[0]) == repeats(several)
    typical = Reported(latency_mean_ms=10.0, latency_median_ms=9.0)
    assert [each.median.ms for each in repeats(typical)] == [9.0]


def test_each_case_knows_the_noise_of_its_kind_of_device_and_its_session(bench: Any) -> None:
    session = bench.session(
        bench.case(1, rounds=[[10.0] * 6, [11.0] * 6]),
        bench.case(2, rounds=[[20.0] * 6]),
        bench.case(1, 5.0, device="cuda:0"),
    )
    session.same_within = 0.03
    one, two, gpu = evidence(session)
    assert one.noise == two.noise
    assert (one.noise.pool.freedom, one.noise.known, one.noise.same_within) == (1 + 12, True, 0.03)
    assert gpu.noise.pool.freedom == 12
    assert all(each.session is session for each in (one, two, gpu))
    assert (two.config, two.case) == (session.cases[1].config, session.cases[1])


def test_earlier_sessions_are_known_by_the_record(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0))
    spread = {"cpu": ProcessSpread(between=0.05, freedom=6.0)}
    session.started = msgspec.structs.replace(session.started, process_spread=spread)
    assert evidence(session)[0].noise.pool.freedom == 6


def test_an_aa_pair_is_a_case_and_its_repeat_alone(bench: Any) -> None:
    session = bench.session(
        bench.case(2, 10.0), bench.case(1, 10.0), bench.case(1, 11.0, repeat=1), bench.case(4, 10.0)
    )
    found = evidence(session)
    pair = aa_pair(found)
    assert pair is not None
    assert [each.case.index for each in pair] == [1, 2]
    assert all(each.noise.floor == pytest.approx(0.0953, rel=1e-3) for each in found)  # log(1.1)


def test_an_aa_pair_has_two_ends(bench: Any) -> None:
    again, other = evidence(bench.session(bench.case(1, 10.0, repeat=1), bench.case(2, 10.0)))
    assert aa_pair([again, other]) is None
    assert aa_pair([other]) is None
    assert again.noise.floor is None


@pytest.mark.parametrize("amount", [1, 3, 7, 60])
def test_medians_alone_are_those_of_the_whole_summary(bench: Any, amount: int) -> None:
    chance = Random(amount)
    rounds = [[chance.lognormvariate(2, 0.1) for _ in range(amount)] for _ in range(3)]
    (case,) = bench.session(bench.case(1, rounds=rounds)).cases
    assert medians_of(case) == tuple(each.median for each in rounds_of(case))
    case.metrics = metrics(case)
    case.drop_steps()
    assert medians_of(case) == tuple(each.median for each in rounds_of(case))


QUIET, BUSY = Environment(processors=2), Environment(processors=2, others_cpu_percent=98.0)


def beside_neighbors(bench: Any, *rounds: Environment, keep_steps: bool = True) -> CaseState:
    """A case of these rounds: steps of 10, 20, 30 ms and so on, and 1, 2, 3 J and so on."""
    *before, last = rounds
    energy_j = [float(place + 1) for place, _ in enumerate(rounds)]
    ends = [
        RoundFinished(t=0.5, case=0, round=place, environment=each, energy=Energy(energy_j=energy_j[place]))
        for place, each in enumerate(before)
    ]
    end = CaseFinished(
        t=1.0, case=0, outcome="ok", environment=last, energy=Energy(energy_j=sum(energy_j), mean_power_w=5.0)
    )
    times_ms = [[10.0 * (place + 1)] * 6 for place, _ in enumerate(rounds)]
    made = bench.case(rounds=times_ms, outcome=None, warmup_ms=[99.0])
    session = Session(None if keep_steps else metrics)
    session.apply_all([*bench.events(made, finished=None), *ends, end])
    return session.cases[0]


@pytest.mark.parametrize("keep_steps", [True, False])
@pytest.mark.parametrize(
    ("rounds", "counting"),
    [
        ((QUIET, QUIET, QUIET), (0, 1, 2)),
        ((BUSY, QUIET, QUIET), (1, 2)),
        ((QUIET, BUSY, QUIET), (0, 2)),
        ((QUIET, QUIET, BUSY), (0, 1)),
        ((QUIET, BUSY, BUSY), (0,)),
        ((BUSY, BUSY, QUIET), (2,)),
        ((BUSY, BUSY, BUSY), (0, 1, 2)),
        ((BUSY,), (0,)),
    ],
)
def test_rounds_beside_neighbors_enter_no_figure_if_there_are_others(
    bench: Any, rounds: tuple[Environment, ...], counting: tuple[int, ...], keep_steps: bool
) -> None:
    case = beside_neighbors(bench, *rounds, keep_steps=keep_steps)
    times_ms = [10.0 * (place + 1) for place in counting]
    figures = metrics(case)
    assert figures is not None
    assert [each.median.ms for each in rounds_of(case)] == [each.ms for each in medians_of(case)] == times_ms
    assert (figures.latency_ms.n, figures.latency_ms.most) == (6 * len(times_ms), max(times_ms))
    assert figures.latency_ms.mean == pytest.approx(sum(times_ms) / len(times_ms))
    assert figures.samples_per_s == pytest.approx(1000 * len(times_ms) / sum(times_ms))
    assert figures.tokens_per_s == pytest.approx(100 * 1000 * len(times_ms) / sum(times_ms))
    joules = [place + 1.0 for place in counting]
    assert figures.energy_per_sample_j == pytest.approx(sum(joules) / (6 * len(joules)))
    if len(joules) > 1:
        assert figures.rounds_energy_j == pytest.approx([each / 6 for each in joules])
    assert len(case.ends) == len(rounds), "the case itself keeps every round"
    if keep_steps:
        assert len(case.measured) == 6 * len(rounds) and len(case.warmup) == 1


def test_outliers_are_those_of_the_rounds_that_count_by_their_place_among_all_steps(bench: Any) -> None:
    times_ms = [[10.0, 10.1] * 20 for _ in range(3)]
    times_ms[0][5] = times_ms[1][7] = times_ms[2][9] = 500.0
    made = bench.case(rounds=times_ms, outcome=None)
    session = Session()
    ends = [
        RoundFinished(t=0.5, case=0, round=place, environment=around)
        for place, around in ((0, QUIET), (1, BUSY))
    ]
    end = CaseFinished(t=1.0, case=0, outcome="ok", environment=QUIET)
    session.apply_all([*bench.events(made, finished=None), *ends, end])
    figures = metrics(session.cases[0])
    assert figures is not None
    assert outliers_of(session.cases[0]) == figures.outliers == (5, 89)
    session.cases[0].metrics = figures
    session.cases[0].drop_steps()
    assert outliers_of(session.cases[0]) == (5, 89)


def test_outliers_of_quiet_rounds_are_those_of_all_steps(bench: Any) -> None:
    (case,) = bench.session(bench.case(rounds=[[10.0, 10.1] * 20, [10.0, 10.1] * 19 + [500.0]])).cases
    assert outliers_of(case) == (78,)


def test_spread_of_the_others_is_that_of_each_kind_of_device(bench: Any) -> None:
    rounds = [[10.0] * 6, [11.0] * 6]
    made = [bench.case(size, rounds=rounds, device=device) for device in ("cpu", "cuda:0") for size in (1, 2)]
    cpu, _, gpu, _, _ = evidence(bench.session(*made, bench.case(4, rounds=[[10.0] * 6] * 4)))
    of_cpu, of_gpu = others_of_pair(cpu, gpu)
    assert of_gpu.freedom < of_cpu.freedom and of_gpu == others_of_pair(gpu, cpu)[0]


def test_energy_stays_that_of_all_rounds_if_one_is_unknown(bench: Any) -> None:
    case = beside_neighbors(bench, QUIET, BUSY, QUIET)
    case.rounds = (replace(case.rounds[0], energy=None), *case.rounds[1:])
    without = counted(case).finished
    assert without is not None and without.energy == Energy(energy_j=6.0, mean_power_w=5.0)


def test_rate_lies_within_its_interval_even_if_the_typical_rounds_were_slower_or_faster(bench: Any) -> None:
    session = bench.session(bench.case(4, rounds=[[10.0] * 6, [10.1] * 6, [10.2] * 6]))
    (case,), (found,) = session.cases, evidence(session)
    figures = metrics(case)
    assert figures is not None
    low, high = rate_bounds(figures, found) or (0.0, 0.0)
    bounds = bounds_ms(found, again=True)
    assert bounds and (low, high) == pytest.approx((4000 / bounds.high, 4000 / bounds.low), rel=1e-4)
    assert rate_bounds(replace(figures, samples_per_s=1.0), found) == (1.0, high)
    assert rate_bounds(replace(figures, samples_per_s=9e9), found) == (low, 9e9)


def test_a_round_of_fast_steps_has_its_median_as_typical_step_and_a_rate_with_an_interval(bench: Any) -> None:
    session = bench.session(*(bench.case(size, [0.5] * 20 + [0.6] * 19 + [9.0]) for size in (1, 2)))
    for case, found in zip(session.cases, evidence(session), strict=True):
        figures = metrics(case)
        assert figures is not None and typical_ms(case, figures) == pytest.approx(0.55)
        assert rate_bounds(figures, found) is not None


@pytest.mark.parametrize("between", [0.003, 0.02])
def test_an_interval_that_holds_another_session_has_the_variance_of_both(bench: Any, between: float) -> None:
    (found,) = evidence(bench.session(bench.case(4, rounds=[[10.0] * 6, [10.1] * 6, [10.2] * 6] * 20)))
    found = replace(found, noise=replace(found.noise, between_sessions=between))
    own, again = bounds_ms(found), bounds_ms(found, again=True)
    assert own and again and own.value == again.value
    errors = [log(bounds.high / bounds.value) / 1.96 for bounds in (own, again)]
    assert errors[1] == pytest.approx(hypot(errors[0], between * sqrt(2)), rel=0.03)


def test_typical_step_of_rounds_is_the_geometric_mean_of_those_that_count(bench: Any) -> None:
    case = beside_neighbors(bench, QUIET, QUIET)
    assert typical_of_rounds(case, (10.0, 40.0)) == pytest.approx(20.0)
    assert typical_of_rounds(case, (0.4, 0.9)) == pytest.approx(0.6)
    assert typical_of_rounds(case, (10.0,)) is typical_of_rounds(case, (0.0, 10.0)) is None
    throttled = replace(QUIET, throttle=("hw thermal",))
    disturbed = beside_neighbors(bench, throttled, throttled)
    assert typical_of_rounds(disturbed, (10.0, 40.0)) == pytest.approx(20.0)
    reported = bench.case(end={"reported": Reported(latency_mean_ms=10.0, repeats_mean_ms=(9.0, 11.0))})
    assert typical_of_rounds(bench.session(reported).cases[0], (9.0, 11.0)) is None

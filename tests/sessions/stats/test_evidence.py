from random import Random
from typing import Any

import msgspec
import pytest

from benchtui.sessions.payloads import ProcessSpread, Reported
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.distribution import sample
from benchtui.sessions.stats.evidence import Evidence, aa_pair, medians_of, repeats, rounds_of, with_noise
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

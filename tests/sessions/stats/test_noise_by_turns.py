from math import exp, log, pi, sqrt

import pytest
from by_turns import SLICE_STEPS, SLICES, HandMade

from benchtui.sessions.payloads import CaseRound, Turns
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.noise import (
    Spread,
    between,
    pairs_by_turns,
    ratios_by_turns,
    spread_by_turns,
    spread_of_pairs,
)
from benchtui.sessions.stats.ratios import estimate_by_turns, latency_ratio
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.sampling import Sample, Slices, Statistic
from benchtui.sessions.stats.verdicts import Doubt, Ratio, Verdict


def ratio_of(session: Session, one: int = 0, other: int = 1) -> Ratio:
    rows = {row.case.index: row for row in measured(session)}
    ratio = latency_ratio(rows[one], rows[other])
    assert ratio
    return ratio


def played(*steps_ms: float, pairs: int = 5) -> HandMade:
    made = HandMade(*steps_ms).alone(*range(len(steps_ms)))
    for _ in range(pairs):
        made.by_turns(0, 1)
    return made


def test_pace_of_the_machine_cancels_out_in_turns() -> None:
    ratio = ratio_of(played(10.0, 10.5, pairs=5).session)
    assert ratio.by_turns and ratio.rounds == 5
    assert ratio.value == pytest.approx(1 / 1.05, rel=0.01)
    assert ratio.verdict is Verdict.SLOWER
    assert ratio_of(played(10.0, 10.0, pairs=8).session).verdict is Verdict.SAME


def test_rounds_alone_at_these_paces_decide_nothing() -> None:
    ratio = ratio_of(HandMade(10.0, 10.5).alone(*[0, 1] * 6).session)
    assert not ratio.by_turns and ratio.doubt is Doubt.WIDE


@pytest.mark.parametrize("pairs", [0, 1, 2, 3])
def test_few_pairs_leave_the_ratio_to_ordinary_rounds(pairs: int) -> None:
    assert not ratio_of(played(10.0, 10.5, pairs=pairs).session).by_turns


def test_three_pairs_suffice_where_others_measured_the_spread() -> None:
    made = played(10.0, 10.5, 10.0, pairs=3)
    for _ in range(7):
        made.by_turns(0, 2)
    ratio = ratio_of(made.session)
    assert ratio.by_turns and ratio.rounds == 3
    rows = measured(made.session)
    assert rows[0].noise.by_turns == spread_by_turns(rows)["cpu"]
    assert rows[0].noise.by_turns.freedom == 2 + 6


@pytest.mark.parametrize(("others", "shared"), [(3, False), (4, True)])
def test_ratio_says_whether_its_spread_is_shared(others: int, shared: bool) -> None:
    made = played(10.0, 10.5, 10.0, pairs=4)
    for _ in range(others):
        made.by_turns(0, 2)
    ratio = ratio_of(made.session)
    assert ratio.by_turns and ratio.moderated is shared


def test_pairs_share_their_spread_as_soon_as_six_repeats_know_it() -> None:
    ratios, others = [Statistic(1.05), Statistic(1.05), Statistic(1.07), Statistic(1.07)], Spread(4e-4, 3.0)
    own = between(ratios)
    few, enough = (estimate_by_turns(ratios, Spread(4e-4, freedom), others) for freedom in (5.9, 6.0))
    assert few and few.own == (Spread(pytest.approx(1e-4), 3.0),), "the larger one"
    shared = 0.55 * 4e-4 + 0.45 * own.variance
    assert enough and enough.own == (Spread(pytest.approx(shared / 4), 6.0),)
    paced = estimate_by_turns(ratios, Spread(0.071**2, 20.0), others)
    assert paced and paced.own == (Spread(pytest.approx(0.071**2 / 4), 3.0),)


def test_turns_that_vary_limit_the_error_of_ratios_that_agree() -> None:
    agreeing = [Statistic(1.05, 0.06)] * 4
    estimate = estimate_by_turns(agreeing, Spread(1e-4, 20.0), Spread(1e-4, 17.0))
    assert estimate and estimate.own[0].variance == pytest.approx(0.5 * 0.06**2 / 4)
    assert spread_of_pairs(agreeing, []) == Spread(0.0, 3.0), "what all pairs show"


def in_slices(*medians_ms: float, partners: int = 1) -> Sample:
    others = tuple(CaseRound(case=2 + each, round=0) for each in range(partners - 1))
    turns, typical = Turns(case=1, round=0, slice_steps=1, others=others), Statistic(1.0)
    return Sample(len(medians_ms), typical, None, typical, slices=Slices(turns, 0, medians_ms))


def test_turns_without_a_time_have_no_ratio() -> None:
    (ratio,) = ratios_by_turns([(in_slices(0.0, 0.2, 0.2, 0.4), in_slices(0.1, 0.0, 0.1, 0.2))])
    assert ratio.ms == 2.0
    assert ratios_by_turns([(in_slices(0.0), in_slices(0.1)), (in_slices(0.1), in_slices(0.0))]) == []


def test_error_of_a_ratio_follows_from_the_spread_of_its_turns() -> None:
    (ratio,) = ratios_by_turns([(in_slices(1.0, 1.1, 1.21, 1.331), in_slices(1.0, 1.0, 1.0, 1.0))])
    assert ratio.ms == pytest.approx(1.1**1.5)
    deviation = log(1.1) * sqrt(5 / 3)
    assert ratio.error == pytest.approx(sqrt(pi / 2) * deviation / sqrt(4))
    (two,) = ratios_by_turns([(in_slices(1.0, 1.21), in_slices(1.0, 1.0))])
    assert two.error == pytest.approx(sqrt(pi / 2) * log(1.1))
    (alone,) = ratios_by_turns([(in_slices(1.1), in_slices(1.0))])
    assert alone.error is None


def test_ratios_of_cases_that_take_turns_together_count_as_part_of_them() -> None:
    ratios = [Statistic(ms) for ms in (1.0, 1.1, 1.2)]
    two, four = in_slices(1.0), in_slices(1.0, partners=3)
    alone = Sample(1, Statistic(1.0), None, Statistic(1.0))
    freedoms = [
        spread_of_pairs(ratios, [(one, one) for one in ones]).freedom for ones in ((two, alone), (four, two))
    ]
    assert freedoms == [2.0, 1.0]


def test_only_rounds_that_both_have_are_pairs() -> None:
    session = played(10.0, 10.5, pairs=5).session
    session.cases[1].rounds = session.cases[1].rounds[:-1]  # its last round was cut off
    session.cases[1].drop_from_round(5)
    one, other = measured(session)
    assert len(pairs_by_turns(one, other)) == len(pairs_by_turns(other, one)) == 4


def test_pairs_next_to_a_neighbor_do_not_count() -> None:
    made = played(10.0, 10.5, pairs=4)
    made.by_turns(0, 1, others_cpu_percent=90.0, processors=2)
    assert ratio_of(made.session).rounds == 4


def test_ratio_is_inverse_the_other_way_round() -> None:
    session = played(10.0, 10.5).session
    one, other = ratio_of(session), ratio_of(session, 1, 0)
    assert one.value == pytest.approx(1 / other.value)
    assert one.low and one.low == pytest.approx(1 / (other.high or 0.0), rel=1e-4)


def test_more_pairs_are_wanted_until_the_difference_is_decided() -> None:
    made = HandMade(10.0, 10.3).alone(0, 1)
    for _ in range(4):
        made.by_turns(0, 1, spread=0.03)
    ratio = ratio_of(made.session)
    assert ratio.verdict is Verdict.UNSURE and not ratio.assumed
    wanted = ratio.times(1.03).rounds_wanted or 0
    assert wanted > 4
    one, other = measured(made.session)
    spread = between(ratios_by_turns(pairs_by_turns(one, other)))
    assert ratio.between == pytest.approx(sqrt(spread.variance / 2)), "per case"


def test_round_has_the_median_of_each_turn() -> None:
    row = measured(played(10.0, 10.5, pairs=1).session)[0]
    first, second = row.rounds
    assert first.slices is None and second.slices
    assert len(second.slices.medians_ms) == SLICES and second.n == SLICES * SLICE_STEPS
    assert 10.0 * 0.9 < min(second.slices.medians_ms) < 10.0 * exp(0.45) * 1.1


def test_energy_is_that_of_the_rounds_alone() -> None:
    alone, more = (measured(played(10.0, 10.5, pairs=pairs).session)[0] for pairs in (0, 3))
    assert more.metrics.energy_per_sample_j == alone.metrics.energy_per_sample_j
    assert more.metrics.mean_power_w == 6.0
    last = HandMade(10.0, 10.5).by_turns(0, 1).alone(0, 0, 1, 1)
    row = measured(last.session)[0]
    assert row.metrics.energy_per_sample_j == alone.metrics.energy_per_sample_j
    assert len(row.metrics.rounds_energy_j) == 2

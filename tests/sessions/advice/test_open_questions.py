"""What a session leaves open, and the sweep that decides it."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.advice.deciding_sweep import deciding_sweep
from benchtui.sessions.advice.open_questions import (
    ROUNDS_WORTH,
    OpenQuestion,
    Remedy,
    noise_is_assumed,
    open_questions,
)
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.payloads import Environment
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.verdicts import CHANCE, FIRST_ROUNDS
from benchtui.sessions.sweep import Axes, Baseline, Config, Measure, Sweep, cases
from benchtui.sessions.sweep.toml_reader import parse_sweep
from benchtui.sessions.sweep.toml_writer import toml_of

STEADY = [10.0 + 0.001 * step for step in range(30)]


def rounds(*middles_ms: float) -> list[list[float]]:
    """Return a round of 30 nearly equal steps for each of these times."""
    return [[middle_ms * each / 10 for each in STEADY] for middle_ms in middles_ms]


def asked(session: Session, about: str) -> list[OpenQuestion]:
    return [each for each in open_questions(session) if about in each.about]


def decided_by(session: Session, about: str = "verdict") -> Remedy | None:
    (question,) = asked(session, about)
    return question.remedy


def pair(bench: Any, base: Any, new: Any, sweep: Sweep | None = None, **end: Any) -> Session:
    made = bench.case(1, 1.0, rounds=base, end=end), bench.case(1, 1.0, precision="bf16", rounds=new, end=end)
    found: Session = bench.session(*made, sweep=sweep)
    return found


def test_nothing_is_open_if_every_verdict_is_decided(bench: Any) -> None:
    session = pair(bench, rounds(10.0, 10.01, 10.0), rounds(20.0, 20.01, 20.0))
    assert open_questions(session) == () and deciding_sweep(session, ()) is None


def test_single_rounds_are_followed_by_a_few_that_show_the_spread(bench: Any) -> None:
    session = pair(bench, rounds(10.0), rounds(10.5))
    (question,) = asked(session, "verdict")
    assert question.remedy == Remedy(FIRST_ROUNDS)
    assert set(question.about) >= {"verdict", "best throughput", "best latency"}
    assert [case.config.precision for case in question.cases] == ["fp32", "bf16"]


def test_rounds_follow_from_the_spread_between_them(bench: Any) -> None:
    spread, wider = (decided_by(pair(bench, rounds(9.9, 10.0, 10.1), rounds(*new))) for new in (
        (10.3, 10.4, 10.2), (10.1, 10.5, 10.3)
    ))  # fmt: skip
    assert spread is not None and wider is not None
    assert 3 < (spread.rounds or 0) < (wider.rounds or 0) <= ROUNDS_WORTH


def test_no_rounds_are_recommended_next_to_the_limit_of_a_verdict(bench: Any) -> None:
    session = pair(bench, rounds(9.7, 10.0, 10.3), rounds(9.85, 10.15, 10.45))
    (question,) = asked(session, "verdict")
    assert (question.remedy, question.obstacle) in {(None, "close"), (None, "many rounds")}


def test_noisy_steps_call_for_more_steps(bench: Any) -> None:
    dice = random.Random(3)
    noisy = [[[dice.gauss(middle, 1.5) for _ in range(20)] for _ in range(3)] for middle in (10.0, 10.8)]
    found = decided_by(pair(bench, *noisy))
    assert found is not None and found.steps is not None and found.steps >= 40


def test_disturbed_rounds_are_repeated(bench: Any) -> None:
    busy = Environment(others_cpu_percent=150.0, processors=2)
    session = bench.session(
        bench.case(1, 1.0, rounds=rounds(10.0, 10.01, 10.0)),
        bench.case(1, 1.0, precision="bf16", rounds=rounds(11.0, 11.01, 11.0), end={"environment": busy}),
    )
    found = decided_by(session)
    assert found is not None and found.repeat_disturbed and found.rounds == 3
    sweep = deciding_sweep(session, open_questions(session))
    assert sweep is not None and sweep.measure.retries == 2


def test_steps_that_disagree_are_no_reason_for_another_sweep(bench: Any) -> None:
    two_paces = [[10.0, 14.0, 14.0] * 200] * 3
    session = pair(bench, rounds(10.0, 10.0, 10.0), two_paces)
    (question,) = asked(session, "verdict")
    assert (question.remedy, question.obstacle) == (None, "steps")
    assert deciding_sweep(session, open_questions(session)) is None


def test_assumed_noise_calls_for_an_aa_pair_if_something_is_open(bench: Any) -> None:
    session = pair(bench, rounds(10.0), rounds(10.3))
    session.started = replace(session.started, process_spread={})
    *pairs, question = open_questions(session)
    assert pairs
    assert (question.about, question.remedy) == (("noise",), Remedy(aa=True))
    sweep = deciding_sweep(session, [question])
    assert sweep is not None and sweep.measure.aa and sweep.axes.precision == ("fp32",)


def test_assumed_noise_is_only_a_note_if_everything_is_decided(bench: Any) -> None:
    session = pair(bench, rounds(10.0), rounds(40.0))
    session.started = replace(session.started, process_spread={})
    assert open_questions(session) == ()
    assert noise_is_assumed(session)


def test_time_limit_follows_from_the_steps_that_were_left(bench: Any) -> None:
    sweep = Sweep(name="hand", model="tiny", measure=Measure(iterations=20, timeout_s=10.0))
    slow = bench.case(4, [1000.0] * 5, outcome="timeout")
    session = bench.session(bench.case(1, 10.0), slow, sweep=sweep)
    # 15 steps of a second are left: one and a half times 25 s
    assert decided_by(session, "time limit") == Remedy(timeout_s=38.0)
    unknown = bench.session(bench.case(4, outcome="timeout"), sweep=sweep)
    assert decided_by(unknown, "time limit") == Remedy(timeout_s=20.0)


def test_interval_cut_off_by_its_time_limit_gets_the_time_it_needs(bench: Any) -> None:
    rules = Measure(until_percent=1.0, max_time_s=2.0, iterations=6)
    sweep = Sweep(name="hand", model="tiny", measure=rules)
    dice = random.Random(2)
    wide = [dice.gauss(100.0, 8.0) for _ in range(20)]
    session = bench.session(bench.case(1, wide, end={"stop": "time limit of 2 s"}), sweep=sweep)
    found = decided_by(session, "interval")
    assert found is not None and found.max_time_s is not None and 3 * 2.0 < found.max_time_s < 100 * 2.0
    ended = bench.session(bench.case(1, wide, end={"stop": "interval of the median within ±1%"}), sweep=sweep)
    assert asked(ended, "interval") == []


def test_cases_that_were_not_measured_are_left_to_a_resume(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, outcome=None), finished=None)
    (question,) = asked(session, "not measured")
    assert (question.remedy, question.obstacle) == (None, "resume")
    assert [case.config.batch_size for case in question.cases] == [2]


def test_imported_cases_cannot_be_run(bench: Any) -> None:
    session = pair(bench, rounds(10.0), rounds(10.5))
    assert isinstance(session.started, SessionStarted)
    session.started = replace(session.started, source="hyperfine")
    with pytest.raises(BenchtuiError, match="imported from hyperfine"):
        deciding_sweep(session, open_questions(session))


def test_sweep_is_not_reduced_below_its_own_rules(bench: Any) -> None:
    rules = Measure(rounds=8, max_time_s=30.0, timeout_s=900.0, iterations=200)
    session = pair(bench, rounds(10.0), rounds(10.5), Sweep(name="hand", model="tiny", measure=rules))
    (question,) = asked(session, "verdict")
    for remedy in (question.remedy, Remedy(steps=50, max_time_s=20.0, timeout_s=60.0)):
        found = deciding_sweep(session, [replace(question, remedy=remedy)])
        assert found is not None
        measure = found.measure
        assert (measure.rounds, measure.max_time_s, measure.timeout_s) == (8, 30.0, 900.0)
        assert measure.iterations == 200
    raised = deciding_sweep(
        session, [replace(question, remedy=Remedy(9, 300, max_time_s=40.0, timeout_s=950.0))]
    )
    assert raised is not None and raised.measure == replace(
        found.measure, rounds=9, max_time_s=40.0, timeout_s=950.0, iterations=300
    )


AXES = Axes(
    precision=("fp32", "bf16"), attention=("eager", "sdpa"), batch_size=(1, 2, 4), sequence_length=(32, 64)
)


def planned(baseline: Baseline | None) -> Sweep:
    return Sweep(name="hand", model="tiny", axes=AXES, measure=Measure(min_warmup_s=None, baseline=baseline))


@pytest.mark.parametrize(
    "baseline", [None, Baseline(batch_size=1), Baseline(precision="fp32", attention="eager")]
)
@pytest.mark.parametrize("seed", range(3))
def test_sweep_has_the_cases_of_the_questions_and_their_baselines(
    bench: Any, baseline: Baseline | None, seed: int
) -> None:
    dice, sweep = random.Random(seed), planned(baseline)
    made = [
        bench.case(config.batch_size, 1.0, rounds=rounds(dice.choice((10.0, 10.2, 30.0))), **options(config))
        for config in (case.config for case in cases(sweep))
    ]
    session = bench.session(*made, sweep=sweep)
    questions = open_questions(session)
    wanted = {case.config for each in questions for case in each.cases}
    found = deciding_sweep(session, questions)
    assert found is not None
    configs = {case.config for case in cases(replace(found, measure=replace(found.measure, aa=False)))}
    bases = {case.config for case in session.cases} if baseline is None else set(map(config_of, made))
    assert wanted <= configs <= wanted | bases
    assert len(configs - wanted) <= 2  # a baseline of each length
    assert parse_sweep(toml_of(found), "next").measure.rounds == FIRST_ROUNDS


def config_of(made: Any) -> Config:
    config: Config = made.config
    return config


def options(config: Config) -> dict[str, Any]:
    names = ("precision", "attention", "sequence_length")
    return {name: getattr(config, name) for name in names}


def simulated(bench: Any, dice: random.Random, ratio: float, spread: float, amount: int) -> Session:
    """A session of two cases whose processes vary by this spread."""

    def times(middle_ms: float) -> list[list[float]]:
        return rounds(*(middle_ms * dice.lognormvariate(0.0, spread) for _ in range(amount)))

    return pair(bench, times(10.0), times(10.0 * ratio))


def unsure(session: Session) -> Iterator[OpenQuestion]:
    return (each for each in asked(session, "verdict"))


def test_recommended_rounds_decide_as_often_as_they_promise(bench: Any) -> None:
    dice, before, after = random.Random(7), 0, 0
    for ratio in (1.03, 1.04, 1.06) * 15:
        session = simulated(bench, dice, ratio, 0.015, 3)
        for question in unsure(session):
            if question.remedy and question.remedy.rounds:
                before += 1
                after += any(unsure(simulated(bench, dice, ratio, 0.015, question.remedy.rounds)))
    assert before >= 15
    assert (
        after <= (1 - CHANCE + 0.25) * before
    )  # the ratio and the spread were themselves estimated from three

"""What a session says, by moment: decided, tie, open, no baseline, imported, nothing measured."""

from typing import Any

import pytest

from benchtui.sessions.advice.conclusion import Conclusion, conclude
from benchtui.sessions.advice.constraints import Constraints
from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Baseline, Config, Measure, Sweep
from benchtui.sessions.text.conclusion import about_time, facts, headline, nothing_measured, open_text


def name(config: Config) -> str:
    return f"{config.precision} bs {config.batch_size}"


def only(session: Session, objective: Objective | None = None) -> Conclusion:
    (work,) = conclude(session, objective).works
    return work


def sweep(batch_sizes: tuple[int, ...], **measure: Any) -> Sweep:
    return Sweep(name="hand", model="tiny", axes=Axes(batch_size=batch_sizes), measure=Measure(**measure))


def test_decided_session_says_what_to_run_and_against_whom(bench: Any) -> None:
    session = bench.session(bench.steady(1, 10.0), bench.steady(4, 20.0), bench.steady(8, 50.0))
    work = only(session)
    assert work.decided and headline(work).startswith("run cpu fp32 compile=off bs=4 seq=128: 200 samples/s")
    said = dict(facts(work, name))
    assert said["baseline"] == "fp32 bs 1, 100 samples/s: 2.00 × (2.00 to 2.00), FASTER"
    assert said["confidence"] == "clearly ahead of the next"
    assert said["next best"].startswith("fp32 bs 8, 160 samples/s: 1.25 × (")
    assert said["latency"] == "fp32 bs 1, 10.0 ms, clearly ahead of the next"
    assert open_text(conclude(session)) == "nothing: every verdict is decided"


def test_tie_names_the_case_that_the_simpler_one_was_chosen_over(bench: Any) -> None:
    session = bench.session(bench.steady(1, 10.0), bench.steady(1, 9.99, compile="default"))
    work = only(session)
    assert work.decided and work.best.config.compile == "off"
    said = dict(facts(work, name))
    assert said["confidence"] == "indistinguishable from 1 other"
    assert said["next best"].startswith("fp32 bs 1, 100 samples/s: 0.999 ×")


def test_open_lead_is_said_first_with_what_would_decide_it(bench: Any) -> None:
    times = {1: 10.0, 2: 19.9, 4: 39.6}
    made = (bench.case(size, ms, rounds=[[ms] * 20, [1.4 * ms] * 20]) for size, ms in times.items())
    session = bench.session(*made, sweep=sweep((1, 2, 4), iterations=30))
    work = only(session)
    assert not work.decided
    assert headline(work, "128 tokens").startswith(
        "not decided at 128 tokens: likely within 27 % of the best; 2 others may be "
    )
    said = open_text(conclude(session))
    assert said.startswith("3 questions; 4 more rounds of 3 cases (about ") and said.endswith(
        " would decide them"
    )


def test_case_that_beats_the_baseline_is_run_for_now(bench: Any) -> None:
    rivals = (bench.case(size, ms, rounds=[[ms] * 20, [1.4 * ms] * 20]) for size, ms in ((8, 8.0), (16, 15.7)))
    session = bench.session(bench.steady(1, 10.0), *rivals)
    work = only(session)
    assert not work.decided and work.better_than_baseline
    assert headline(work, "128 tokens").startswith("run for now at 128 tokens cpu fp32 compile=off bs=")
    said = dict(facts(work, name))
    assert said["confidence"].startswith("undecided: likely within 24 % of the best; 1 other may be as good")
    assert said["baseline"].endswith("FASTER")


def test_lead_that_is_not_established_is_bounded(bench: Any) -> None:
    work = only(bench.session(bench.case(1, 10.0), bench.case(2, 19.8), sweep=sweep((1, 2))))
    assert work.decided and headline(work).startswith("run cpu fp32 compile=off bs=1 seq=128: 100 samples/s")
    assert dict(facts(work, name))["confidence"] == "indistinguishable from 1 other, within 12 % of the best"


def test_cost_of_the_open_questions_follows_from_the_measured_steps(bench: Any) -> None:
    session = bench.session(bench.case(1, 100.0), bench.case(2, 190.0), sweep=sweep((1, 2), iterations=30))
    remaining = conclude(session).remaining
    assert remaining is not None and (remaining.questions, remaining.cases, remaining.rounds) == (1, 2, 4)
    steps_s = 4 * (35 * 0.1 + 35 * 0.19)
    assert remaining.seconds is not None and steps_s <= remaining.seconds < 2 * steps_s


def test_missing_baseline_is_named_with_its_reason(bench: Any) -> None:
    plan = sweep((1, 2), baseline=Baseline(batch_size=1))
    session = bench.session(bench.case(1, outcome="oom"), bench.steady(2, 10.0), sweep=plan)
    work = only(session)
    said = dict(facts(work, name))
    assert said["baseline"].startswith("none (the baseline") and said["confidence"] == "the only case"


def test_constraint_that_excludes_all_leaves_no_conclusion(bench: Any) -> None:
    session = bench.session(bench.steady(1, 10.0))
    assert conclude(session, Objective("throughput", Constraints(latency_ms=1.0))).works == ()
    assert nothing_measured(session) == "no measured case meets the constraints"


def test_failure_of_all_cases_is_said_once_with_its_reason(bench: Any) -> None:
    failed = [bench.case(size, outcome="failed", end={"reason": "no such folder"}) for size in (1, 2)]
    session = bench.session(*failed)
    assert conclude(session).works == ()
    assert nothing_measured(session) == "nothing was measured: 2 of 2 cases failed: no such folder"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "about 1 s"), (80.0, "about 80 s"), (100.0, "about 2 minutes")]
)
def test_expected_times_are_rounded(seconds: float, words: str) -> None:
    assert about_time(seconds) == words

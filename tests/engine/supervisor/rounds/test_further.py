"""Further rounds of ``rounds = "auto"``, with played cases and a policy that each test sets."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchtui.engine.control import Command
from benchtui.engine.executor import Node
from benchtui.engine.supervisor.command_handler import execute
from benchtui.engine.supervisor.rounds import further
from benchtui.sessions.advice.open_questions import OpenQuestion, Remedy, open_questions
from benchtui.sessions.advice.race import RacePlan, Settled
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CaseStarted, Message, Outcome, RoundsPlanned
from benchtui.sessions.journal.reader import read
from benchtui.sessions.payloads import Energy, Host, Memory, StepCost
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Axes, Config, Find, Measure, Run
from benchtui.sessions.text.race import asked

Begin = Callable[..., Any]
Policy = Callable[[Session], RacePlan]
AUTO = Measure(rounds_auto=True)
SLOW = Settled(case=2, against=0, ratio=Ratio(1 / 2.1, Bounds(*[1 / 2.1] * 5)))


def until(rounds: int, *cases: int) -> Policy:
    """Return a policy that measures these cases until each has so many rounds; case 3 is surely slower."""

    def plan(session: Session) -> RacePlan:
        missing = tuple(case for case in cases if len(session.cases[case].ends) < rounds)
        ended = None if missing else "every question is decided"
        return RacePlan(missing, settled=(SLOW,) if len(session.cases) > 2 else (), ended=ended)

    return plan


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Callable[[Policy], None]:
    """Set the policy that plans further rounds."""
    return lambda plan: monkeypatch.setattr(further, "plan_rounds", plan)


def well(config: Config) -> tuple[Outcome, dict[str, Any]]:
    return "ok", {"step_ms": 1.0, "memory": Memory(peak_rss_mb=100.0)}


def after(sweep: Any, seconds: float, index: int) -> bool:
    """Let a case end after so many seconds; False once the sweep is over."""
    sweep.log.zero_s -= seconds
    return bool(sweep.finish(index, ended_s=sweep.log.now_s()))


def starts(path: Path) -> list[tuple[int, int]]:
    """Case and round of each started process."""
    return [(event.case, event.round) for event in read(path).events if isinstance(event, CaseStarted)]


def plans(path: Path) -> list[RoundsPlanned]:
    return [event for event in read(path).events if isinstance(event, RoundsPlanned)]


def messages(path: Path) -> list[str]:
    return [event.text for event in read(path).events if isinstance(event, Message)]


def ends(session: Session) -> Iterator[tuple[str, str | None, int]]:
    for case in session.cases:
        assert case.finished
        yield case.finished.outcome, case.finished.not_measured_further, len(case.measured.rounds)


def test_open_cases_get_rounds_in_the_planned_order(stage: Begin, policy: Any) -> None:
    policy(until(3, 1, 0))
    sweep = stage(measure=AUTO)
    sweep.finish_all(well)
    assert starts(sweep.path) == [(0, 0), (1, 0), (2, 0), (1, 1), (0, 1), (1, 2), (0, 2)]
    assert [plan.cases for plan in plans(sweep.path)] == [(1, 0), (1, 0), ()]
    why = "every question is decided"
    assert list(ends(sweep.told())) == [("ok", why, 3), ("ok", why, 3), ("ok", "2.10x slower, sure", 1)]
    assert f"no further rounds: {why} (spent 0 s of 120 s)" in [m.text for m in sweep.told().messages]


def test_decided_race_asks_for_no_resume_of_the_cases_that_it_ends(stage: Begin) -> None:
    sweep = stage(measure=AUTO)
    sweep.finish_all(lambda config: ("ok", {"step_ms": float(config.batch_size) ** 3}))
    assert plans(sweep.path)[-1].open_questions == 0
    assert not [text for text in messages(sweep.path) if "resume" in text or "stays open" in text]


def test_question_that_stays_open_is_named_with_its_ratio_and_its_cost(stage: Begin, policy: Any) -> None:
    bounds = Bounds(1.02, 0.97, 1.08, 0.96, 1.09)

    def plan(session: Session) -> RacePlan:
        pair, ratio = tuple(session.cases[:2]), Ratio(1.02, bounds, rounds=1)
        near = OpenQuestion(about=("best latency",), cases=pair, ratio=ratio, rounds=4)
        close = OpenQuestion(about=("best latency",), cases=pair, ratio=ratio, obstacle="close")
        noise = OpenQuestion(about=("noise",), cases=pair[:1], remedy=Remedy(aa=True))
        return RacePlan(questions=(near, close, noise), ended="the budget is spent")

    policy(plan)
    sweep = stage(measure=AUTO)
    sweep.finish_all(well)
    near, close, noise = [text for text in messages(sweep.path) if text.startswith("stays open: ")]
    one, other = (case.name for case in sweep.told().cases[:2])
    assert near.startswith(f"stays open: which case has the shortest step: {other} against {one}: 1.02")
    assert "; decided by about 6 more rounds (" in near
    assert "no number of rounds decides it" in close and "None" not in close
    assert noise.endswith("decided by an A/A pair (the baseline twice)")


def test_cases_between_plans_are_neither_pending_nor_ended(stage: Begin, policy: Any) -> None:
    policy(until(2, 0))
    sweep = stage(measure=AUTO)
    for index in (0, 1, 2):
        sweep.finish(index)
    session = sweep.told()
    assert (sweep.running, sweep.pending) == ([0], [])
    assert [case.index for case in session.between_plans] == [1, 2]
    assert session.cases[2].settled == "2.10x slower, sure"
    assert [case.finished for case in session.cases] == [None] * 3
    assert [result.case.index for result in measured(session)] == [0, 1, 2], "ended rounds are results"


def test_end_of_a_case_has_the_peaks_and_energy_of_its_rounds(stage: Begin, policy: Any) -> None:
    policy(until(2, 0))
    sweep = stage(axes=Axes(), measure=AUTO)
    energies = [Energy(energy_j=joules, mean_power_w=5.0, source="counter") for joules in (1.0, 2.0)]
    sweep.finish(0, memory=Memory(peak_rss_mb=9.0), work=StepCost(flops=7), energy=energies[0])
    sweep.finish(0, memory=Memory(peak_rss_mb=5.0), energy=energies[1])
    (case,) = sweep.told().cases
    end = case.finished
    assert (end.memory, end.energy.energy_j, end.work) == (Memory(peak_rss_mb=9.0), 3.0, StepCost(flops=7))
    assert [len(case.rounds), len(case.ends), len(case.measured.by_round())] == [1, 2, 2]


@pytest.mark.parametrize("running", [0, 1])
def test_no_round_starts_after_the_budget_and_the_running_one_counts(
    stage: Begin, policy: Any, running: int
) -> None:
    policy(until(9, 0, 1, 2))
    sweep = stage(measure=AUTO, run=Run(budget_s=30.0))
    for index in (0, 1, 2, *range(running)):
        after(sweep, 0.1, index)
    assert not after(sweep, 31.0, running)
    assert [rounds for _, _, rounds in ends(sweep.told())] == [2 if case <= running else 1 for case in range(3)]
    (outcome, why, _), *_ = ends(sweep.told())
    assert (outcome, why) == ("ok", "the budget is spent")
    assert plans(sweep.path)[-1].spent_s > 30 and plans(sweep.path)[-1].budget_s == 30


def test_budget_is_as_much_as_the_first_rounds_took(stage: Begin, policy: Any) -> None:
    policy(until(2, 0))
    sweep = stage(measure=AUTO)
    after(sweep, 200.0, 0)
    for index in (1, 2, 0):
        after(sweep, 0.1, index)
    assert 200 < plans(sweep.path)[-1].budget_s < 210


def test_pause_costs_no_budget_and_plans_nothing(stage: Begin, policy: Any) -> None:
    policy(until(3, 0))
    sweep = stage(measure=AUTO)
    for index in (0, 1, 2):
        sweep.finish(index)
    execute(Command(command="pause"), sweep.scheduler)
    assert sweep.finish(0) and len(plans(sweep.path)) == 1
    sweep.log.zero_s -= 100.0
    execute(Command(command="continue"), sweep.scheduler)
    assert sweep.scheduler.advance() and sweep.running == [0]
    assert not after(sweep, 5.0, 0)
    assert 5 <= plans(sweep.path)[-1].spent_s < 50


def test_session_truncated_anywhere_resumes_to_the_same_end(
    stage: Begin, resume: Begin, policy: Any, tmp_path: Path
) -> None:
    policy(until(3, 1, 0))
    sweep = stage(measure=AUTO)
    sweep.finish_all(well)
    whole = sweep.told()
    lines = sweep.path.read_bytes().splitlines(keepends=True)
    for length in range(2, len(lines)):
        path = tmp_path / f"cut-{length}.json"
        path.write_bytes(b"".join(lines[:length]))
        begun = Counter(starts(path))
        again = resume(path)
        again.finish_all(well)
        session = again.told()
        assert list(ends(session)) == list(ends(whole)), length
        assert [len(case.measured) for case in session.cases] == [60, 60, 20], length
        twice = [turn for turn, times in Counter(starts(path)).items() if times > 1]
        assert len(twice) <= 1 and set(twice) <= begun.keys(), "only the round that was cut short"
        assert session.left == 0 and session.done == 3


def test_budget_counts_the_time_before_a_resume(stage: Begin, resume: Begin, policy: Any) -> None:
    policy(until(9, 0))
    sweep = stage(measure=AUTO, run=Run(budget_s=50.0))
    for index in (0, 1, 2):
        sweep.finish(index)
    after(sweep, 40.0, 0)
    again = resume(sweep.cut())
    assert again.running == [0]
    assert not after(again, 20.0, 0)
    assert next(ends(again.told()))[1:] == ("the budget is spent", 3)


def test_stopped_sweep_has_results_and_continues_with_the_same_rounds(
    stage: Begin, resume: Begin, policy: Any
) -> None:
    policy(until(3, 1, 0))
    sweep = stage(measure=AUTO)
    for index in (0, 1, 2, 1):
        sweep.finish(index)
    sweep.log.zero_s -= 100.0
    sweep.scheduler.stop("stopped by the user")
    assert not sweep.scheduler.advance()
    session = sweep.told()
    assert all(0 < case.newest_round_s < 50 for case in session.cases[1:]), "without the time before the stop"
    (left,) = (each for each in open_questions(session) if each.obstacle == "resume")
    assert asked(left) == "3 cases left to measure further"
    assert [case.state for case in session.cases] == ["interrupted"] * 3
    rounds = [len(result.metrics.rounds) for result in measured(session)]
    assert rounds == [1, 2, 1], "rounds that ended are results"
    again = resume(sweep.cut())
    assert again.running == [0], "the round that was cut short"
    again.finish_all(well)
    assert [rounds for *_, rounds in ends(again.told())] == [3, 3, 1]


def test_round_skipped_by_the_user_leaves_the_results_of_its_case(stage: Begin, policy: Any) -> None:
    policy(until(3, 1, 0))
    sweep = stage(measure=AUTO)
    for index in (0, 1, 2):
        sweep.finish(index)
    execute(Command(command="skip"), sweep.scheduler)
    execute(Command(command="drop", cases=(2,)), sweep.scheduler)
    execute(Command(command="skip", cases=(0,)), sweep.scheduler)
    assert not sweep.scheduler.advance()
    words = ("skipped by the user", "skipped by the user", "dropped by the user")
    assert list(ends(sweep.told())) == [("ok", why, 1) for why in (words[1], words[0], words[2])]


def test_added_case_gets_its_first_round_after_planned_ones(stage: Begin, policy: Any) -> None:
    policy(until(2, 0, 1))
    sweep = stage(measure=AUTO)
    for index in (0, 1, 2):
        sweep.finish(index)
    (added,) = execute(Command(command="add", configs=(Config(device="cpu", batch_size=9),)), sweep.scheduler)
    (again,) = execute(Command(command="again", cases=(2,)), sweep.scheduler)
    assert (sweep.running, sweep.pending) == ([0], [1, added, again])
    execute(Command(command="order", cases=(again,)), sweep.scheduler)
    sweep.told()
    sweep.finish_all(well)
    assert starts(sweep.path)[3:] == [(0, 1), (1, 1), (again, 0), (added, 0)]
    with pytest.raises(BenchtuiError, match="case 1 has ended"):
        sweep.scheduler.queue.require_unended(0)


def test_measured_case_cannot_be_moved(stage: Begin, policy: Any) -> None:
    policy(until(2, 0))
    sweep = stage(measure=AUTO)
    for index in (0, 1, 2):
        sweep.finish(index)
    with pytest.raises(BenchtuiError, match="case 2 is measured; only pending cases can be dropped or moved"):
        execute(Command(command="order", cases=(1,)), sweep.scheduler)


def test_failed_round_ends_its_case_and_the_rest_goes_on(stage: Begin, policy: Any) -> None:
    policy(until(2, 0, 1))
    sweep = stage(measure=AUTO)
    for index in (0, 1, 2):
        sweep.finish(index)
    sweep.finish(0, "failed", reason="killed")
    sweep.finish(1)
    assert [case.state for case in sweep.told().cases] == ["failed", "ok", "ok"]


def test_search_for_the_batch_size_precedes_further_rounds(stage: Begin, policy: Any) -> None:
    policy(until(2, 1))
    sweep = stage(axes=Axes(batch_size_auto=True), measure=AUTO)
    sweep.finish_all(lambda config: ("oom", {}) if config.batch_size > 3 else well(config))
    assert [case.config.batch_size for case in sweep.told().cases] == [1, 2, 4, 3]
    assert starts(sweep.path) == [(0, 0), (1, 0), (2, 0), (3, 0), (1, 1)]


def test_planned_rounds_run_on_all_nodes(stage: Begin, policy: Any) -> None:
    policy(until(2, 0, 1))
    nodes = (Node("a", Host()), Node("b", Host()))
    sweep = stage(nodes=nodes, measure=AUTO, run=Run(executor="ray", lost="repeat", repeat_on_each=False))
    for index in (0, 1, 2):
        sweep.finish(index)
    assert sorted(sweep.running) == [0, 1]
    sweep.finish(1)
    sweep.finish(0)
    assert [rounds for *_, rounds in ends(sweep.told())] == [2, 2, 1]


def test_find_drops_cases_that_cannot_win_unmeasured(stage: Begin, policy: Any) -> None:
    policy(lambda session: RacePlan(dropped=((2, "can't win"),), ended="every question is decided"))
    sweep = stage(measure=AUTO, find=Find())
    sweep.finish_all(well)
    assert starts(sweep.path) == [(0, 0), (1, 0)]
    assert sweep.outcomes()[2] == ("skipped", "can't win")


def test_find_looks_at_cases_in_the_planned_order_and_may_repeat_first(stage: Begin, policy: Any) -> None:
    def plan(session: Session) -> RacePlan:
        looks = tuple(case for case in (2, 0, 1) if not session.cases[case].ends)
        repeats = (2,) if len(session.cases[2].ends) == 1 else ()
        return RacePlan((*repeats, *looks), ended=None if repeats or looks else "every question is decided")

    policy(plan)
    sweep = stage(measure=AUTO, find=Find())
    assert (sweep.running, sweep.pending) == ([2], [0, 1])
    sweep.finish(2)
    assert (sweep.running, sweep.pending) == ([2], [0, 1]), "again before the first look at others"
    sweep.finish_all(well)
    assert starts(sweep.path) == [(2, 0), (2, 1), (0, 0), (1, 0)]
    assert [rounds for *_, rounds in ends(sweep.told())] == [1, 1, 2]


def test_find_measures_nothing_after_its_budget(stage: Begin) -> None:
    sweep = stage(measure=AUTO, find=Find(), run=Run(budget_s=30.0))
    after(sweep, 31.0, sweep.running[0])
    assert len(starts(sweep.path)) == 1
    reasons = sorted(str(reason) for _, reason in sweep.outcomes().values())
    assert reasons == ["None", "the budget is spent", "the budget is spent"]
    assert "not measured: 2 cases, because the budget is spent" in messages(sweep.path)


def test_end_with_finished_rounds_drops_the_steps_of_a_skipped_round(stage: Begin, policy: Any) -> None:
    policy(until(2, 0))
    sweep = stage(axes=Axes(), measure=AUTO)
    sweep.finish(0)
    played = sweep.played[0]
    played.finish()
    played._events.pop()
    sweep.scheduler.advance()
    execute(Command(command="skip"), sweep.scheduler)
    sweep.scheduler.advance()
    (case,) = sweep.told().cases
    assert isinstance(case.finished, CaseFinished) and len(case.measured) == 20

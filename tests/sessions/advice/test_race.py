"""Which cases get another round, and when a race ends."""

from collections.abc import Sequence
from typing import Any

import pytest

from benchtui.sessions.advice.conclusion import conclude, questions_of
from benchtui.sessions.advice.deciding_sweep import deciding_sweep
from benchtui.sessions.advice.open_questions import Remedy, open_questions
from benchtui.sessions.advice.race import Cost, cost, plan_rounds, seconds_left
from benchtui.sessions.events import Answered, CaseFinished, CaseStarted, RoundFinished, SessionStarted, Steps
from benchtui.sessions.payloads import AnswerComparison, Host, ProcessSpread
from benchtui.sessions.state.case import OUT_OF_BUDGET
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Config, Find, Run, Sweep
from benchtui.sessions.sweep.plan import included_configs
from benchtui.sessions.text.conclusion import open_text
from benchtui.sessions.text.race import settled_reason

ROUND_S = 2.0
Rounds = Sequence[float | Sequence[float]]
"""Rounds of a case: 30 nearly equal steps of this time, or all of its steps."""
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")


def session_of(
    *cases: Rounds | str,
    spread: float | None = 0.001,
    budget_s: float | None = None,
    find: Find | None = None,
    configs: Sequence[Config] = (),
    freedom: float = 12.0,
) -> Session:
    """Return a session of cases with rounds of these medians, or with another outcome; empty ones wait."""
    configs = configs or tuple(
        Config(device="cpu", precision=PRECISIONS[place % 4], threads=1 + place // 4)
        for place in range(len(cases))
    )
    session = Session()
    recorded = {} if spread is None else {"cpu": ProcessSpread(between=spread, freedom=freedom)}
    axes = Axes(
        batch_size=tuple(sorted({config.batch_size for config in configs})),
        precision=tuple(dict.fromkeys(config.precision for config in configs)),
        threads=tuple(dict.fromkeys(config.threads for config in configs)),
    )
    sweep = Sweep(name="hand", model="tiny", axes=axes, run=Run(budget_s=budget_s), find=find)
    session.apply(
        SessionStarted(
            t=0.0,
            id="a",
            created="",
            sweep=sweep,
            plan=tuple(configs),
            host=Host(platform=""),
            process_spread=recorded,
        )
    )
    t = 0.0
    for turn in range(max(len(case) if not isinstance(case, str) else 1 for case in cases)):
        for index, case in enumerate(cases):
            t = _run(session, index, turn, case, t)
    return session


def _run(session: Session, index: int, turn: int, case: Rounds | str, t: float) -> float:
    """Apply the events of one round of a case, and return the time of its end."""
    if turn >= (1 if isinstance(case, str) else len(case)):
        return t
    end = t + ROUND_S
    session.apply(CaseStarted(t=t, case=index, round=turn, config=session.cases[index].config))
    if isinstance(case, str):
        session.apply(CaseFinished(t=end, case=index, outcome=case))  # type: ignore[arg-type]
        return end
    shown = case[turn]
    times = [shown * (1 + 0.0001 * step) for step in range(30)] if isinstance(shown, float) else list(shown)
    session.apply(Steps(t=end, case=index, phase="measure", round=turn, wall_ms=times))
    span = (t, end)
    if turn + 1 == len(case):
        session.apply(CaseFinished(t=end, case=index, outcome="ok", measured_s=span))
    else:
        session.apply(RoundFinished(t=end, case=index, round=turn, measured_s=span))
    return end


def test_each_case_gets_a_first_round_in_plan_order() -> None:
    plan = plan_rounds(session_of((), (), ()))
    assert plan.rounds == (0, 1, 2) and plan.ended is None


def test_race_ends_once_every_question_is_decided() -> None:
    session = session_of((10.0, 10.0, 10.0), (20.0, 20.0, 20.0))
    plan = plan_rounds(session)
    assert (plan.rounds, plan.questions, plan.ended) == ((), (), "every question is decided")
    assert open_questions(session) == ()
    for case in session.cases:
        case.finished, case.between_rounds = None, True
    assert plan_rounds(session).questions == (), "cases that end with this plan aren't left to a resume"


def test_rounds_go_to_the_rivals_only() -> None:
    plan = plan_rounds(session_of((20.0,), (10.0,), (10.1,), (30.0,), spread=0.01))
    assert sorted(plan.rounds) == [1, 2] and plan.ended is None
    assert {each.case for each in plan.settled} == {0, 3}


def test_settled_case_says_why() -> None:
    plan = plan_rounds(session_of((20.0,), (10.0,), (10.1,), (30.0,), spread=0.01))
    texts = {each.case: settled_reason(each) for each in plan.settled}
    assert texts[0].startswith("2.0") and texts[0].endswith("x slower, sure")
    same = plan_rounds(session_of((10.0,) * 5, (10.0,) * 5))
    assert settled_reason(same.settled[0]) == "the same within 2%"


def test_best_case_of_each_work_is_not_settled_against_another() -> None:
    lengths = [Config(device="cpu", sequence_length=size, threads=n) for size in (16, 64) for n in (1, 2)]
    plan = plan_rounds(session_of([10.0] * 3, [30.0] * 3, [20.0] * 3, [60.0] * 3, configs=lengths))
    assert [(each.case, each.against) for each in plan.settled] == [(1, 0), (3, 2)]
    assert plan.ended == "every question is decided"
    faster = plan_rounds(session_of([30.0] * 3, [10.0] * 3, [60.0] * 3, [20.0] * 3, configs=lengths))
    assert [(each.case, each.against) for each in faster.settled] == [(0, 1), (2, 3)]


def test_case_that_is_not_surely_slower_is_not_settled() -> None:
    plan = plan_rounds(session_of([10.0] * 3, [10.2] * 3, [30.0] * 3, spread=0.02))
    assert [each.case for each in plan.settled] == [2]


def test_plan_in_the_middle_of_a_wave_continues_it() -> None:
    plan = plan_rounds(session_of((10.0, 10.0), (10.1,), (40.0,), spread=0.01))
    assert plan.rounds == (1,)


def test_cases_that_did_not_succeed_get_no_rounds() -> None:
    plan = plan_rounds(session_of((10.0,), "oom", "failed", (10.1,), spread=0.01))
    assert sorted(plan.rounds) == [0, 3]


def test_unknown_spread_is_measured_with_a_few_repeats() -> None:
    plan = plan_rounds(session_of(*[(10.0 + 0.01 * place,) for place in range(30)], spread=None))
    assert 12 <= len(plan.rounds) <= 14


def test_spread_that_is_known_in_part_needs_fewer_repeats() -> None:
    cases = [(10.0 + 0.01 * place,) for place in range(30)]
    assert 4 <= len(plan_rounds(session_of(*cases, spread=0.01, freedom=8.0)).rounds) <= 5
    devices = [Config(device=device, threads=n) for device in ("cpu", "cuda:0") for n in range(1, 16)]
    both = plan_rounds(session_of(*cases, spread=0.01, freedom=8.0, configs=devices))
    assert len(both.rounds) >= 12, "nothing is known of the GPU"


def test_cost_counts_no_rounds_of_a_case_that_has_enough() -> None:
    plan = plan_rounds(session_of([20.0] * 6, [20.5] * 2, [40.0] * 2, spread=0.03))
    (question,) = (question for question in plan.questions if "verdict" in question.about)
    assert cost(question) == Cost(question.rounds - 2, (question.rounds - 2) * ROUND_S)


def test_spent_budget_ends_the_race_and_says_what_stays_open() -> None:
    session = session_of((10.0,), (10.1,), spread=0.03, budget_s=4.0, find=Find())
    plan = plan_rounds(session)
    assert plan.rounds == () and plan.ended is not None and "budget" in plan.ended
    price = cost(plan.questions[0])
    assert price is not None and price.rounds == 8 and price.seconds == 8 * ROUND_S


@pytest.mark.parametrize(
    ("cases", "rounds", "measured"), [(5, 3, True), (5, 4, True), (5, 5, False), (4, 3, False)]
)
def test_case_of_several_questions_gets_twice_as_many_rounds(cases: int, rounds: int, measured: bool) -> None:
    others = [[20.5 + 0.05 * place] * 2 for place in range(cases - 1)]
    plan = plan_rounds(session_of([20.0] * rounds, *others, spread=0.03))
    assert (0 in plan.rounds) is measured and 1 in plan.rounds


CHEAP_AND_DEAR = ([20.0] * 2, [10.0], [10.2], [21.0] * 2)
"""A verdict that few rounds decide, and a choice that more of them do."""


def test_cheapest_questions_are_decided_first() -> None:
    ample = session_of(*CHEAP_AND_DEAR, spread=0.03, budget_s=1000.0)
    plan = plan_rounds(ample)
    rivals, verdict = map(cost, plan.questions)
    assert sorted(plan.rounds) == [0, 1, 2, 3]
    assert rivals and verdict and rivals.seconds > verdict.seconds
    enough_for_either = 1000.0 - seconds_left(ample) + rivals.seconds
    planned = plan_rounds(session_of(*CHEAP_AND_DEAR, spread=0.03, budget_s=enough_for_either))
    assert planned.rounds == (0, 3)


def test_time_that_decides_nothing_is_left_to_the_rivals_of_the_best_case() -> None:
    spent_s = 1000.0 - seconds_left(session_of(*CHEAP_AND_DEAR, spread=0.03, budget_s=1000.0))
    plan = plan_rounds(session_of(*CHEAP_AND_DEAR, spread=0.03, budget_s=spent_s + 4 * ROUND_S))
    assert sorted(plan.rounds) == [1, 2]


def test_that_time_goes_to_the_nearest_rivals() -> None:
    cases = ([20.0] * 2, [10.0], *[[10.0 + 0.1 * place] for place in (7, 6, 5, 4, 3, 2, 1)])
    spent_s = 1000.0 - seconds_left(session_of(*cases, spread=0.05, budget_s=1000.0))
    plan = plan_rounds(session_of(*cases, spread=0.05, budget_s=spent_s + 7.9 * ROUND_S))
    assert sorted(plan.rounds) == [1, 5, 6, 7, 8]


def test_plan_fits_the_budget_but_for_its_last_round() -> None:
    cases = [(10.0 + 0.01 * place,) for place in range(10)]
    plan = plan_rounds(session_of(*cases, spread=0.03, budget_s=12.5 * ROUND_S, find=Find()))
    assert len(plan.rounds) == 3


def test_budget_defaults_to_two_minutes_more_than_the_first_pass() -> None:
    session = session_of((10.0,), (10.1,), spread=0.03, find=Find())
    session.now_s = 123.9
    assert plan_rounds(session).rounds
    session.now_s = 124.0
    assert plan_rounds(session).rounds == ()


def test_question_that_no_rounds_decide_ends_the_race() -> None:
    two_paces = [10.0, 14.0, 14.0] * 200
    plan = plan_rounds(session_of((10.0,) * 3, (two_paces,) * 3, (40.0,) * 3))
    assert plan.rounds == () and plan.questions
    assert plan.ended == "more rounds wouldn't decide the open questions"


def test_search_repeats_what_is_too_close_to_call_and_a_sweep_does_not() -> None:
    cases = ([20.0] * 3, [10.0] * 3, [10.2] * 3)
    decided, searched = (plan_rounds(session_of(*cases, spread=0.06, find=find)) for find in (None, Find()))
    assert [question.obstacle for question in decided.questions] == ["close"]
    assert decided.rounds == () and decided.ended == "more rounds wouldn't decide the open questions"
    assert sorted(searched.rounds) == [1, 2]


def test_effect_that_no_pair_shows_is_measured_once_all_else_is_decided() -> None:
    configs = [
        Config(device="cpu", precision=precision, threads=threads)
        for threads in (1, 2)
        for precision in ("fp32", "bf16")
    ]
    plan = plan_rounds(session_of([10.0], "oom", [20.0], [20.06], configs=configs, spread=0.01))
    assert sorted(plan.rounds) == [2, 3]
    assert [question.about for question in plan.questions] == [("effect",)]
    assert [settled.case for settled in plan.settled] == []
    shown = plan_rounds(session_of([10.0], "oom", [20.0], [30.0], configs=configs, spread=0.01))
    assert (shown.rounds, shown.ended) == ((), "every question is decided")


def test_running_case_gets_no_round() -> None:
    session = session_of((10.0,), (10.1,), spread=0.01)
    session.cases[0] = replace_running(session, 0)
    plan = plan_rounds(session)
    assert 0 not in plan.rounds and plan.ended is None


def replace_running(session: Session, index: int) -> Any:
    case = session.cases[index].reset_for_resume()
    case.started = CaseStarted(t=9.0, case=index, config=case.config)
    case.between_rounds = False
    return case


def sized(*sizes: int, **options: Any) -> list[Config]:
    return [Config(device="cpu", batch_size=size, **options) for size in sizes]


def test_search_measures_only_the_rivals_of_the_best_case() -> None:
    cases = ((20.0,), (10.0,), (10.2,), (15.0,))
    plan = plan_rounds(session_of(*cases, spread=0.02, find=Find()))
    assert sorted(plan.rounds) == [1, 2]
    assert {each.case for each in plan.settled} == {0, 3}


def test_search_measures_the_baseline_however_many_rivals_are_open() -> None:
    rivals = [(10.0 + place / 10,) for place in range(9)]
    plan = plan_rounds(session_of((12.0,), *rivals, spread=0.1, find=Find()))
    assert 0 in plan.rounds and len(plan.rounds) < 9


def test_search_starts_with_cases_that_differ_in_one_option() -> None:
    both = Config(device="cpu", precision="bf16", threads=2)
    configs = [
        Config(device="cpu"),
        both,
        Config(device="cpu", precision="bf16"),
        Config(device="cpu", threads=2),
    ]
    assert plan_rounds(session_of((), (), (), (), configs=configs, find=Find())).rounds == (0, 2, 3, 1)


def test_search_drops_a_combination_of_slow_options() -> None:
    configs = [
        Config(device="cpu", precision=precision, threads=threads)
        for precision in ("fp32", "bf16")
        for threads in (1, 2)
    ]
    plan = plan_rounds(session_of((10.0,), (20.0,), (18.0,), (), configs=configs, find=Find()))
    ((case, reason),) = plan.dropped
    assert case == 3 and reason == "its options make it about 3.5x worse than the best"
    near = plan_rounds(session_of((10.0,), (9.0,), (9.5,), (), configs=configs, find=Find()))
    assert near.dropped == () and near.rounds == (3,)
    unknown = [
        session_of((10.0,), *[(time,) for time in times], (), configs=configs, find=Find(), spread=None)
        for times in ((20.0, 18.0), (13.0, 12.0))
    ]
    assert [bool(plan_rounds(session).dropped) for session in unknown] == [True, False], "two paces"


def test_search_drops_larger_batches_of_one_that_ran_out_of_memory() -> None:
    plan = plan_rounds(session_of((10.0,), "oom", (), configs=sized(1, 2, 4), find=Find()))
    assert plan.dropped == ((2, "2 samples per step ran out of memory"),)


def test_search_drops_larger_batches_of_one_beyond_a_limit() -> None:
    find = Find(max_latency_ms=15.0)
    plan = plan_rounds(session_of((10.0,), (20.0,), (), configs=sized(1, 2, 4), find=find))
    assert [case for case, _ in plan.dropped] == [2]
    assert plan.rounds == () and plan.ended == "every question is decided"


def test_search_excludes_other_answers_unless_any_is_accepted() -> None:
    for answers, best in (("close", 0), ("any", 1)):
        session = session_of((10.0,) * 3, (5.0,) * 3, find=Find(answers=answers))
        compared = AnswerComparison(case=1, baseline=0, verdict="different")
        session.apply(Answered(t=20.0, case=1, comparisons=(compared,)))
        plan = plan_rounds(session)
        assert (plan.ended, [each.against for each in plan.settled]) == ("every question is decided", [best])


def test_search_asks_only_for_the_best_case_and_its_gain() -> None:
    cases = [(20.0,), (10.0,), *[(10.0 + 0.5 * place,) for place in range(1, 13)]]
    session = session_of(*cases, spread=None, find=Find())
    questions = questions_of(session)
    rivals = [each for each in questions if "verdict" not in each.about]
    assert [each.about for each in questions if each not in rivals] == [("verdict",)]
    assert len(rivals) == 4, "the likeliest of those that may be the best"
    assert all(session.cases[1] in each.cases for each in questions)
    assert conclude(session).open == questions


def test_search_decides_by_more_rounds_of_as_many_steps() -> None:
    noisy = [8.0, 9.0, 10.0, 11.0, 12.0, 13.0]
    session = session_of((20.0,), (noisy,), (noisy,), find=Find())
    questions = questions_of(session)
    assert any(each.remedy and each.remedy.steps for each in questions)
    sweep = deciding_sweep(session, questions)
    assert sweep and sweep.measure.iterations == session.start.sweep.measure.iterations


def test_search_drops_what_no_budget_is_left_for() -> None:
    plan = plan_rounds(session_of((10.0,), (9.0,), (), find=Find(), budget_s=4.0))
    assert plan.dropped == ((2, OUT_OF_BUDGET),) and plan.ended == OUT_OF_BUDGET


def test_search_looks_twice_at_a_rival_that_may_have_run_at_a_slower_pace() -> None:
    near, far = [14.0] * 30, [14.001] * 30
    plan = plan_rounds(session_of(([10.0] * 30,) * 2, (near,), (far,), find=Find()))
    assert plan.rounds == (1,)


def test_search_measures_the_p99_that_its_constraint_needs() -> None:
    plan = plan_rounds(session_of((10.0,) * 3, (20.0,) * 3, find=Find(max_p99_ms=50.0)))
    assert plan.rounds == (0,)
    assert plan_rounds(session_of((10.0,) * 4, (20.0,) * 3, find=Find(max_p99_ms=50.0))).rounds == ()


def test_search_keeps_a_part_of_its_time_limit_for_the_rivals() -> None:
    cases = ((10.0,), (10.1,), (10.2,), ())
    early = plan_rounds(session_of(*cases, spread=0.02, find=Find(), budget_s=20.0))
    late = plan_rounds(session_of(*cases, spread=0.02, find=Find(), budget_s=7.0))
    assert early.rounds == (3,)
    assert set(late.rounds) <= {0, 1, 2} and late.rounds and late.dropped == ()


def test_search_looks_late_at_a_case_that_its_options_promise_to_be_the_best() -> None:
    configs = [
        Config(device="cpu", precision=precision, threads=threads)
        for precision in ("fp32", "bf16")
        for threads in (1, 2)
    ]
    for faster, planned in ((9.7, (3,)), (10.3, (0, 1, 2))):
        cases = ((10.0,), (faster,), (faster,), ())
        plan = plan_rounds(session_of(*cases, configs=configs, spread=0.02, find=Find(), budget_s=7.0))
        assert set(plan.rounds) <= set(planned) and plan.rounds


def test_search_looks_first_at_the_combinations_that_promise_most() -> None:
    configs = [
        Config(device="cpu", precision=precision, threads=threads, compile=compiled)
        for compiled in ("off", "default")
        for precision in ("fp32", "bf16")
        for threads in (1, 2)
    ]
    singles = ((10.0,), (11.0,), (8.0,), (), (8.0,), (), (), ())  # 2 threads are slower
    plan = plan_rounds(session_of(*singles, configs=configs, find=Find()))
    assert plan.rounds == (6, 7, 3, 5)


def test_search_names_the_cases_for_which_no_time_was_left() -> None:
    session = session_of((10.0,) * 3, (20.0,) * 3, (), find=Find())
    session.apply(CaseFinished(t=session.now_s, case=2, outcome="skipped", reason=OUT_OF_BUDGET))
    (question,) = questions_of(session)
    assert (question.about, question.remedy) == (("not measured",), Remedy())
    assert question.cases == (session.cases[2],)
    said = open_text(conclude(session))
    assert said.startswith("1 question (1 case not measured for lack of time); further rounds of 2 cases")
    wanted = deciding_sweep(session, [question])
    assert wanted and {config.precision for config in included_configs(wanted)} == {
        session.cases[index].config.precision for index in (0, 2)
    }

"""What the effects of options say about the cost of a case."""

from math import exp
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.advice.expected_costs import MOST, Expected, expected_costs, likely_loss
from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.advice.open_questions import speed_decisions
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.payloads import Environment
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.overview.decision import choices
from benchtui.sessions.state.case import OUT_OF_BUDGET, CaseState
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.sweep import Config, Find
from benchtui.sessions.text.conclusion import advice, certainty_so_far

PRECISIONS, SIZES = {"fp32": 1.0, "bf16": 0.5}, {1: 1.0, 2: 0.9, 4: 0.8, 8: 0.75}


def grid(bench: Any, rounds: int = 1, **measured: float) -> Any:
    """A session of every precision and batch size. Their effects multiply, but for those of some cases."""
    made = []
    for precision, effect in PRECISIONS.items():
        for size, per_sample in SIZES.items():
            ms = 20 * size * effect * per_sample * measured.get(f"{precision}_{size}", 1.0)
            made.append(bench.case(size, rounds=[[ms] * 6] * rounds, precision=precision))
    return bench.session(*made)


def costs(session: Any) -> list[tuple[float, Result]]:
    fit = decide(session, Objective()).fit
    return sorted(((row.typical_ms / row.config.batch_size, row) for row in fit), key=lambda each: each[0])


def expected(session: Any) -> dict[str, float]:
    rows = {row.case.index: row.config for _, row in costs(session)}
    found = expected_costs(costs(session))
    return {f"{rows[index].precision}_{rows[index].batch_size}": each.cost for index, each in found.items()}


def test_effects_that_multiply_are_what_is_expected(bench: Any) -> None:
    for rounds in (1, 3):
        found = expected(grid(bench, rounds))
        assert found["bf16_8"] == pytest.approx(20 * 0.5 * 0.75, rel=0.05)
        assert min(found, key=lambda name: found[name]) == "bf16_8"


def test_lucky_round_is_not_expected_again(bench: Any) -> None:
    """The only round of fp32 with 8 samples is twice as fast as its options say."""
    session = grid(bench, fp32_8=0.48)
    assert costs(session)[0][1].config.precision == "fp32"
    found = expected(session)
    assert min(found, key=lambda name: found[name]) == "bf16_8"
    assert 20 * 0.75 * 0.48 < found["fp32_8"] < 20 * 0.75


def test_more_rounds_make_a_case_count_by_itself(bench: Any) -> None:
    once, often = (expected(grid(bench, rounds, fp32_2=0.8))["fp32_2"] for rounds in (1, 8))
    assert 20 * 0.9 * 0.8 * 1.01 < once < 20 * 0.9
    assert often == pytest.approx(20 * 0.9 * 0.8)


def test_one_case_is_expected_to_be_as_it_was(bench: Any) -> None:
    (alone,) = costs(bench.session(bench.case(4, 10.0)))
    assert expected_costs([alone])[0].cost == pytest.approx(2.5)


def test_unmeasured_case_is_expected_to_have_the_effects_of_its_options(bench: Any) -> None:
    session = grid(bench, 3)
    every = costs(session)
    rest = [each for each in every if each[1].config != session.cases[-1].config]
    unseen = Config(device="cpu", precision="int8", batch_size=8)
    found = expected_costs(rest, [session.cases[-1], CaseState(99, unseen)])
    own = found[session.cases[-1].index]
    assert own.cost == pytest.approx(20 * 0.5 * 0.75, rel=0.05)
    assert max(each.error for each in expected_costs(every).values()) < own.error < found[99].error


def test_nothing_is_expected_without_costs() -> None:
    assert expected_costs([], [CaseState(0, Config(device="cpu"))]) == {}


def test_cost_of_thousands_of_cases_is_not_computed(bench: Any) -> None:
    (one,) = costs(bench.session(bench.case(4, 10.0)))
    assert len(expected_costs([one] * (MOST + 1))) == 1


def test_search_recommends_the_likeliest_case_and_names_the_leader(bench: Any) -> None:
    session = grid(bench, fp32_8=0.48)
    search, plain = (decide(session, Objective(search=search)) for search in (True, False))
    assert search.leader is not None and search.leader.config.precision == "fp32"
    assert (search.best.config.precision, search.best.config.batch_size) == ("bf16", 8)
    assert search.runner_up is search.leader in search.ties and not search.established
    assert plain.expected == {} != search.expected
    sure = decide(grid(bench, 8, fp32_8=0.3), Objective(search=True))
    assert sure.best.config.precision == "fp32" and sure.leader is None


def test_report_and_commands_name_the_choice_of_the_search(bench: Any) -> None:
    session = grid(bench, fp32_8=0.48)
    plain = conclude(session).works[0].best
    session.started = replace(session.started, sweep=replace(session.start.sweep, find=Find()))
    answer = conclude(session)
    (made,) = choices(session, measured(session))["throughput"].values()
    assert made.best is not plain
    assert made.choice == answer.works[0].choice
    assert next(iter(speed_decisions(session, measured(session)))).best == made.best
    assert "**Run**: cpu bf16 compile=off bs=8 seq=128" in markdown(session)


def test_likely_loss_holds_for_all_rivals_together() -> None:
    """95% of a normal distribution lie below 1.645 standard deviations; of both of two below 1.955."""
    best, other = Expected(1.0, 0.1), Expected(1.0, 0.1)
    assert likely_loss(best, [other]) == pytest.approx(exp(1.645 * 0.1 * 2**0.5) - 1, abs=0.01)
    assert likely_loss(best, [other] * 2) == pytest.approx(exp(1.955 * 0.1 * 2**0.5) - 1, abs=0.01)
    assert likely_loss(best, [Expected(1.0, 2.0)]) is None
    assert likely_loss(best, [Expected(2.0, 0.1)]) == likely_loss(best, []) == 0.01


def unknown_machine(session: Any) -> Any:
    """The session on a machine whose spread between processes isn't recorded."""
    session.started = replace(session.started, process_spread={})
    return session


def test_undecided_case_that_is_likely_near_the_best_is_the_one_to_run_for_now(bench: Any) -> None:
    (work,) = conclude(unknown_machine(grid(bench))).works
    loss = work.choice.likely_within
    assert not work.decided and loss is not None and 0.02 < loss < work.choice.within
    assert advice(work) == "Run for now"
    assert certainty_so_far(work).startswith(f"likely within {100 * loss:.0f} % of the best; ")


def test_case_without_a_round_may_be_better(bench: Any) -> None:
    """Only a case for which no time was left counts, not one that was skipped for its options."""

    def loss(reason: str) -> float:
        cases = [
            bench.case(
                size, rounds=[[20 * size * PRECISIONS[precision] * SIZES[size]] * 6], precision=precision
            )
            for precision, size in (("fp32", 1), ("fp32", 4), ("fp32", 8), ("bf16", 1), ("bf16", 4))
        ]
        late = bench.case(8, precision="bf16", outcome="skipped", end={"reason": reason})
        found = decide(unknown_machine(bench.session(*cases, late)), Objective()).likely_within
        assert found is not None
        return found

    assert loss("its options make it worse") < loss(OUT_OF_BUDGET)


def test_nothing_is_likely_next_to_a_neighbor(bench: Any) -> None:
    busy = {"environment": Environment(others_cpu_percent=63.0)}
    cases = (
        bench.case(1, rounds=[[ms] * 6], precision=name, end=busy) for name, ms in (("fp32", 10), ("bf16", 9))
    )
    choice = decide(bench.session(*cases), Objective())
    assert not choice.recommended and choice.likely_within is None

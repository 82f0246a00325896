"""A short part of the simulation of verdicts that ``tests/bench/verdicts/run.py`` prints, with fixed seeds."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.stats.verdicts import Verdict


@pytest.fixture(scope="module")
def simulation() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[2] / "bench/verdicts"))
    try:
        return import_module("run")
    finally:
        del sys.path[0]


def judged(
    simulation: Any, world: str, spread: float, rounds: int, cases: int, sessions: int, **more: Any
) -> Any:
    worlds = {each.name: each for each in (*simulation.WORLDS, *simulation.PACED)}
    cell = simulation.Cell(worlds[world], spread, rounds, cases, **more)
    return simulation.judge(cell, sessions, former=False)[0]


def opposite(found: Any, by: float) -> float:
    """Return the percentage of slower cases that are called faster."""
    return float(100 * found.planted[by][Verdict.FASTER] / found.pairs)


@pytest.mark.parametrize("steps", [12, 40])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("world", ["bimodal", "wandering", "two paces", "rare pace"])
def test_one_round_hardly_ever_calls_equal_cases_different(
    simulation: Any, world: str, recorded: bool, steps: int
) -> None:
    found = judged(simulation, world, 0.003, 1, 8, 20, recorded=recorded, steps=steps)
    assert found.false <= 1
    assert found.coverage[0] >= 93
    assert opposite(found, 0.05) <= 1


@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_interval_of_a_case_holds_its_typical_step_in_fresh_processes(simulation: Any, rounds: int) -> None:
    """The steps of one process know nothing of others: their interval held it in 45 of 100."""
    assert judged(simulation, "lognormal", 0.01, rounds, 20, 10).coverage[2] >= 93


def test_more_rounds_find_more_where_steps_have_two_modes(simulation: Any) -> None:
    one, three, five = (judged(simulation, "bimodal", 0.003, each, 8, 20).power(0.2) for each in (1, 3, 5))
    assert one <= three < five


@pytest.mark.parametrize(("cases", "rounds"), [(2, 3), (2, 4), (4, 3), (8, 3), (8, 5)])
def test_processes_at_two_paces_are_no_difference(simulation: Any, cases: int, rounds: int) -> None:
    found = judged(simulation, "two paces", 0.003, rounds, cases, 80 // (cases - 1) + 1)
    assert found.false <= 2
    assert opposite(found, 0.05) <= 2
    assert found.coverage[0] >= 93


@pytest.mark.parametrize("world", ["lognormal", "spiky", "unlike cases"])
def test_intervals_of_shared_variances_hold_the_truth(simulation: Any, world: str) -> None:
    found = judged(simulation, world, 0.02, 3, 8, 30, missing=0.1)
    assert found.false <= 1.5
    assert found.coverage[0] >= 93
    assert found.coverage[2] >= 93
    assert found.same(0.05) == 0


def test_three_rounds_of_eight_cases_find_five_percent_at_a_spread_of_one(simulation: Any) -> None:
    assert judged(simulation, "lognormal", 0.01, 3, 8, 40).power(0.05) >= 80


def test_five_rounds_of_eight_cases_find_five_percent_at_a_spread_of_two(simulation: Any) -> None:
    assert judged(simulation, "lognormal", 0.02, 5, 8, 40).power(0.05) >= 60


def test_six_turns_find_five_percent_at_a_spread_of_two(simulation: Any) -> None:
    assert judged(simulation, "lognormal", 0.02, 6, 2, 200, common=0.14, others=6).power(0.05) >= 75


def by_turns(simulation: Any, rounds: int, sessions: int, *, turns: bool = True, cases: int = 2) -> Any:
    steps = 40 if turns else 120
    cell = simulation.Cell(simulation.SWITCHING, 0.01, rounds, cases, by_turns=turns, steps=steps)
    return simulation.judge(cell, sessions, former=False)[0]


@pytest.mark.parametrize(("rounds", "cases"), [(4, 2), (6, 2), (5, 4)])
def test_turns_on_a_machine_that_changes_its_pace_call_no_equal_cases_different(
    simulation: Any, rounds: int, cases: int
) -> None:
    found = by_turns(simulation, rounds, 400 // cases, cases=cases)
    assert found.false <= 1.5
    assert found.coverage[0] >= 90, "three standard errors of 200 sessions below 95"
    assert found.same(0.05) == 0


def test_turns_find_five_percent_where_rounds_alone_do_not_find_twenty(simulation: Any) -> None:
    assert by_turns(simulation, 8, 60).power(0.05) >= 80
    assert by_turns(simulation, 8, 60, turns=False).power(0.2) <= 60

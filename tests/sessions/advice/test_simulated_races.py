"""A short part of the simulation of races that ``tests/bench/find/run.py`` prints, with fixed seeds."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def simulation() -> Any:
    folders = [str(BENCH / name) for name in ("find", "verdicts")]
    sys.path[:0] = folders
    before = sys.modules.pop("run", None)  # the simulation of verdicts has a module of this name, too
    try:
        return import_module("run")
    finally:
        sys.modules.pop("run", None)
        if before:
            sys.modules["run"] = before
        sys.path[:] = [path for path in sys.path if path not in folders]


def test_search_finds_a_case_near_the_best_in_a_quarter_of_the_time(simulation: Any) -> None:
    found = simulation.play_all(range(20), ["find"], 40)["find"]
    assert simulation.good(found.outcomes) >= 85
    assert sum(each.share for each in found.outcomes) <= 0.3 * len(found.outcomes)
    assert found.wrong == 0
    assert found.exceeded <= 1
    assert all(each.over <= 1 for each in found.outcomes)


def test_planned_rounds_decide_as_much_as_five_rounds_in_half_of_the_time(simulation: Any) -> None:
    tables = simulation.play_all(range(12), ["auto, half", "five rounds"], 40)
    planned, all_rounds = tables["auto, half"], tables["five rounds"]
    assert planned.verdicts.decided >= 0.9 * all_rounds.verdicts.decided
    assert simulation.good(planned.outcomes) >= simulation.good(all_rounds.outcomes) - 10, "one of 12"
    assert all(each.share <= 0.55 and each.over <= 1 for each in planned.outcomes)
    assert planned.verdicts.false <= 0.01 * planned.verdicts.pairs

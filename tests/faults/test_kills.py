"""Engines and their processes killed at random instants: what is left is readable, and nearly all of it."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import light
import psutil
import pytest
from kills import Left, Shape, at_once, first_step, further_round, kill_at, light_launch, light_resume, resume
from watching import Watched, wait_gone

from benchtui.engine import client
from benchtui.engine.control import runtime_folder
from benchtui.sessions.state.session import Session

SEED = 20261121
THREE = Shape(cases=3)
SHORT = Shape(steps=100)
"""Some cases end before the engine is killed."""


def test_resume_finishes_the_session_of_a_killed_engine(home: Path) -> None:
    path = home / "s.json"
    assert kill_at(0.5, path, light_launch, THREE, since=first_step).faults == ()
    assert resume(path, light_resume, THREE) == ()


def left_of(instants: list[float], folder: Path, victim: str = "engine", shape: Shape = SHORT) -> list[Left]:
    """Every other one is killed so long after its first step."""

    def kill(place: int, at_s: float) -> Left:
        return kill_at(
            at_s, folder / f"s{place}.json", light_launch, shape, victim, first_step if place % 2 else at_once
        )

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(kill, range(len(instants)), instants))


def test_engine_killed_at_any_instant_loses_only_data_in_transit(home: Path) -> None:
    dice = random.Random(SEED)
    found = left_of([0.0, *(dice.uniform(0, 2) for _ in range(24))], home)
    assert [left for left in found if left.faults] == []
    assert {left.state for left in found} == {"no session", "cut off"}
    assert any(left.ended for left in found)
    assert client.running() == [], "and what it left in the runtime folder is swept up"
    assert list(runtime_folder().glob("*.sock")) == []


def test_killed_engine_loses_no_finished_round(home: Path) -> None:
    path, shape = home / "s.json", Shape(cases=3, steps=100, rounds=3)
    left = kill_at(1.5, path, light_launch, shape, since=first_step)
    assert left.faults == ()
    assert resume(path, light_resume, shape) == ()


def test_engine_killed_during_further_rounds_continues_with_them(home: Path) -> None:
    path, shape = home / "s.json", Shape(cases=3, steps=100, rounds=None)
    left = kill_at(0, path, light_launch, shape, since=further_round)
    assert left.faults == () and left.state == "cut off"
    assert resume(path, light_resume, shape) == ()
    session = Session.load(path)
    assert session.rounds_planned is not None and session.rounds_planned.cases == ()


@pytest.mark.parametrize("victim", ["worker", "fork server"])
def test_killed_child_process_costs_at_most_one_case(home: Path, victim: str) -> None:
    dice = random.Random(SEED)
    found = left_of([dice.uniform(0, 1) for _ in range(4)], home, victim, THREE)
    assert [left for left in found if left.faults] == []
    assert {left.state for left in found} == {"finished"}


def test_hanging_case_ends_with_its_engine(begin: Callable[..., Watched]) -> None:
    watched = begin(light.sweep(name="hang"))
    watched.until(lambda: watched.session.cases and watched.session.cases[0].prepared)
    engine = psutil.Process(watched.engine.pid)
    below = engine.children(recursive=True)
    assert len(below) >= 2
    engine.kill()
    watched.until_ended()
    for process in below:
        wait_gone(process.pid)

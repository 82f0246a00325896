"""How often the verdict on a pair of cases is right, with and without neighbours: the real timed loop.

Equal cases with a neighbour switched on at random are to be SAME, or marked as disturbed; a case made 3% slower
on purpose is to be SLOWER without load. A step is a row of small matrix products, and the slower one has one
more. A repetition without load in which others used the machine is drawn again, within limits. How many rounds
it takes depends on the machine: where the fastest steps of rounds differ by 4%, ten of them can't show 3%.
"""

import gc
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import click
import torch

from benchtui.engine.devices.cpu import Cpu
from benchtui.engine.measure import Recorder, measure, warm_up
from benchtui.engine.workloads.base import Counted
from benchtui.sessions.compare import Verdict, comparison
from benchtui.sessions.disturbance import disturbances
from benchtui.sessions.events import AnyEvent, CaseFinished, SessionStarted, Steps
from benchtui.sessions.facts import Host
from benchtui.sessions.results import measured
from benchtui.sessions.session import Session
from benchtui.sessions.sweep import Config, Measure, Sweep

PRODUCTS = 33
"""Matrix products of a step; one more makes it 3% slower."""
LEFT, RIGHT, RESULT = torch.randn(96, 96), torch.randn(96, 96), torch.empty(96, 96)
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    pass"
"""Ends with us, however we do."""


@dataclass(frozen=True)
class Outcome:
    """What came of one pair."""

    verdict: Verdict
    disturbed: bool


def workload(products: int) -> Any:
    def step(lap: Any) -> None:
        for _ in range(products):
            torch.mm(LEFT, RIGHT, out=RESULT)

    return SimpleNamespace(step=step, count=lambda done: Counted())


def run_round(case: int, turn: int, products: int, rules: Measure) -> tuple[list[AnyEvent], tuple[str, ...]]:
    """One case in one round: its steps, and the marks that the surroundings earn it."""
    events: list[AnyEvent] = []
    work, device = workload(products), Cpu()
    warm_up(work, device, rules, Recorder(case, "warmup", events.append, lambda: 0.0, turn))
    done = measure(work, device, rules, Recorder(case, "measure", events.append, lambda: 0.0, turn))
    return events, disturbances(done.environment, done.end_s - done.begin_s)


def _alternating(rounds: int) -> list[tuple[int, int]]:
    """Each round with both cases, every second one in the other direction."""
    return [(turn, case) for turn in range(rounds) for case in ((1, 0) if turn % 2 else (0, 1))]


def pair(slower_by: int, rules: Measure, neighbour: bool) -> Outcome:
    """Measure two cases in rounds; the second does so many products more."""
    configs = (Config(device="cpu"), Config(device="cpu", batch_size=2))
    sweep = Sweep(name="pair", model="none", measure=rules)
    session, marks = Session(), []
    session.apply(SessionStarted(t=0.0, id="pair", created="", sweep=sweep, plan=configs, host=Host()))
    with loaded(neighbour):
        for turn, case in _alternating(rules.rounds):
            events, found = run_round(case, turn, PRODUCTS + case * slower_by, rules)
            session.apply_all(event for event in events if isinstance(event, Steps))
            marks += found
    session.apply_all(CaseFinished(t=0.0, case=case, outcome="ok") for case in range(2))
    latency = comparison(*measured(session)).latency
    return Outcome(latency.verdict if latency else Verdict.UNSURE, bool(marks))


@contextmanager
def loaded(neighbour: bool) -> Iterator[None]:
    """With a neighbour that keeps one processor busy, or without."""
    process = subprocess.Popen([sys.executable, "-c", BUSY]) if neighbour else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def equal_cases(amount: int, rules: Measure, noise: random.Random) -> Counter[str]:
    """Equal pairs with a neighbour at random: how often each verdict came, and how often with a mark."""
    found: Counter[str] = Counter()
    for _ in range(amount):
        neighbour = noise.random() < 0.5
        outcome = pair(0, rules, neighbour)
        marked = ", marked" if outcome.disturbed else ""
        found[f"{outcome.verdict.name}{marked}{' (neighbour)' if neighbour else ''}"] += 1
    return found


def slower_cases(amount: int, rules: Measure) -> Counter[str]:
    """Pairs whose second case is 3% slower, without load; those that the machine disturbed are drawn again."""
    found: Counter[str] = Counter()
    for _ in range(2 * amount):
        outcome = pair(1, rules, neighbour=False)
        found[f"{outcome.verdict.name}{', marked' if outcome.disturbed else ''}"] += 1
        if sum(count for name, count in found.items() if "marked" not in name) == amount:
            break
    return found


@click.command()
@click.option("--pairs", default=100, show_default=True)
@click.option("--rounds", default=80, show_default=True)
@click.option("--steps", default=20, show_default=True)
def main(pairs: int, rounds: int, steps: int) -> None:
    """Print how often each verdict came."""
    torch.set_num_threads(1)
    gc.freeze()  # as the fork server does: each round looks for garbage before it begins
    rules = Measure(warmup=3, iterations=steps, rounds=rounds)
    equal = equal_cases(pairs, rules, random.Random(1))
    right = sum(count for name, count in equal.items() if "SAME" in name or "marked" in name)
    print(f"equal cases: {right} of {pairs} SAME or marked as disturbed (wanted: 95 of 100)  {dict(equal)}")
    slower = slower_cases(pairs, rules)
    quiet = sum(count for name, count in slower.items() if "marked" not in name)
    print(f"3% slower, undisturbed: {slower['SLOWER']} of {quiet} SLOWER (wanted: 90 of 100)  {dict(slower)}")


if __name__ == "__main__":
    main()

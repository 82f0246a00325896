"""How often each verdict is given to cases whose true difference is known.

Through the real engine, each case in a fresh process: a step of small matrix products, made slower, uneven or
fast in its first steps on purpose, without neighbors and with one or two that come and go. Of the five rounds
that are measured the first one and the first three are judged as well. Never: equal cases FASTER or SLOWER in
more than 1 of 100, a true 10% SAME, a slow-down FASTER. ``tests/bench/verdicts`` simulates thousands of pairs.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass
from math import log
from pathlib import Path

import click
import numpy as np
from lab import isolate
from timed_step import CASES, WARMUP

from benchtui.engine import client
from benchtui.sessions.permissions.needed import keys, needed_permissions
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.disturbance import estimate_slowdown
from benchtui.sessions.stats.evidence import rounds_of, with_noise
from benchtui.sessions.stats.noise import Evidence
from benchtui.sessions.stats.ratios import latency_ratio
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep import Axes, Measure, Run, Sweep

PRODUCTS = 100
"""Matrix products of a base case's step: 1% is one of them."""
STEPS, ROUNDS = 30, 5
JUDGED = (1, 3, 5)
JITTERS = (0.005, 0.02, 0.05, 0.1)
SLOWER = (0, 1, 3, 5, 10, 20)
A_SESSION = 24
"""Pairs of a session."""
FAST = (1, 2, 3, 5)
"""First steps at the base case's pace, of a case that is 17% slower: a GPU at boost clock."""
QUIET_S = 20.0
"""Time for which a case may wait for quiet."""
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    pass"
"""Ends with us, however we do."""


@dataclass(frozen=True)
class Cell:
    """Pairs of one kind."""

    slower: int
    """By how many percent the second case is slower."""
    jitter: float
    fast: int = 0

    @property
    def name(self) -> str:
        fast = f", {self.fast} fast steps" if self.fast else ""
        return f"{self.slower:2}% slower, jitter {100 * self.jitter:4.1f}%{fast}"


def _shares(found: Counter[Verdict], of: int) -> str:
    letters = {Verdict.FASTER: "F", Verdict.SLOWER: "S", Verdict.SAME: "=", Verdict.UNSURE: "?"}
    return " ".join(f"{sign}{100 * found[word] / of:.0f}" for word, sign in letters.items())


def measured_session(cells: Sequence[Cell], folder: Path, number: int, neighbors: int) -> Session:
    """Measure pairs by the real engine, two cases each; they are told apart by their sequence length."""
    wanted = []
    for cell in cells:
        wanted.append({"products": PRODUCTS, "jitter": cell.jitter, "fast": 0, "fast_products": PRODUCTS})
        slower = PRODUCTS * (1 + cell.slower / 100)
        wanted.append({"products": slower, "jitter": cell.jitter, "fast": cell.fast, "fast_products": PRODUCTS})
    sweep = Sweep(
        name="verdicts",
        model="none",
        task=f"{Path(__file__).with_name('timed_step.py')}:make_step",
        axes=Axes(threads=(1,), sequence_length=tuple(range(1, len(wanted) + 1))),
        measure=Measure(warmup=WARMUP, iterations=STEPS, rounds=ROUNDS, peaks=False),
        run=Run(wait_for_quiet_s=QUIET_S),
        env={CASES: json.dumps(wanted)},
    )
    with ExitStack() as loads:
        for seed in range(neighbors):
            loads.enter_context(intermittent_load(seed))
        path = folder / f"{number}-{neighbors}.json"
        engine = client.start(sweep, path, keys(needed_permissions(sweep)))
        while engine.alive():
            time.sleep(0.2)
    return Session.load(engine.path)


@contextmanager
def intermittent_load(seed: int) -> Iterator[None]:
    """A neighbor that keeps one processor busy for a second or two, rests as long, and so on."""
    over = threading.Event()

    def play() -> None:
        noise = random.Random(seed)
        while not over.is_set():
            process = subprocess.Popen([sys.executable, "-c", BUSY])
            over.wait(noise.uniform(0.5, 2.0))
            process.kill()
            process.wait()
            over.wait(noise.uniform(0.5, 2.0))

    thread = threading.Thread(target=play)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def first_rounds(case: CaseState, rounds: int) -> CaseState:
    """A case as it was after some of its rounds."""
    if rounds == ROUNDS:
        return case
    part = copy(case)
    part.rounds, part.finished = case.rounds[:rounds], None
    return part


def judged(session: Session, rounds: int) -> list[tuple[Verdict, bool]]:
    """The word for each pair after some rounds, and whether either case was marked as disturbed."""
    cases = [first_rounds(case, rounds) for case in session.cases if case.state == "ok"]
    evidence = with_noise([Evidence(case, rounds_of(case)[:rounds]) for case in cases], session)
    by_index = {each.case.index: each for each in evidence if each.rounds}
    found = []
    for first in range(0, len(session.cases), 2):
        pair = by_index.get(first), by_index.get(first + 1)
        ratio = latency_ratio(pair[0], pair[1]) if pair[0] and pair[1] else None
        marked = any(estimate_slowdown(each.case, throughout=False).by > 1 for each in pair if each)
        found.append((ratio.verdict if ratio else Verdict.UNSURE, marked))
    return found


def _print(title: str, found: dict[tuple[Cell, int], Counter[Verdict]]) -> None:
    print(title)
    for (cell, rounds), words in found.items():
        amount = sum(words.values())
        if amount:
            label = f"{rounds} round{'s' if rounds > 1 else ' '}"
            print(f"  {cell.name:42} {label}  {_shares(words, amount):22} of {amount}")


def wanted_cells(pairs: int, most: int, only: str) -> list[Cell]:
    """Every cell as often as it is wanted: equals and 3% at little jitter, which have a target, more often."""
    every = [Cell(slower, jitter) for slower in SLOWER for jitter in JITTERS]
    every += [Cell(17, 0.002, fast) for fast in FAST]
    every = [cell for cell in every if only in cell.name]
    often = [cell for cell in every if cell.slower in (0, 3) and cell.jitter <= 0.02]
    found = [cell for cell in every for _ in range(pairs)]
    found += [cell for cell in often for _ in range(max(most - pairs, 0))]
    random.Random(1).shuffle(found)
    return found


def real(cells: Sequence[Cell], folder: Path, neighbors: int) -> None:
    """Print how often each verdict comes through the real engine."""
    found: dict[bool, dict[tuple[Cell, int], Counter[Verdict]]] = {}
    for marked in (False, True):
        keys = ((cell, rounds) for cell in sorted(set(cells), key=lambda each: each.name) for rounds in JUDGED)
        found[marked] = {key: Counter() for key in keys}
    between: list[float] = []
    for number in range(0, len(cells), A_SESSION):
        part = cells[number : number + A_SESSION]
        session = measured_session(part, folder, number, neighbors)
        for rounds in JUDGED:
            for cell, (word, marked) in zip(part, judged(session, rounds), strict=True):
                found[marked][(cell, rounds)][word] += 1
        for case in session.cases:
            logs = [log(each.median.ms) for each in rounds_of(case)]
            between.append(float(np.var(logs, ddof=1)) if len(logs) > 1 else 0.0)
    load = f"with {neighbors} busy neighbors that come and go" if neighbors else "without a neighbor of ours"
    median = 100 * float(np.median(between)) ** 0.5
    print(f"real engine, {load}; verdicts in %; spread between processes {median:.2f}% in the middle")
    _print(" undisturbed pairs:", found[False])
    _print(" pairs with a case that was marked as disturbed:", found[True])
    print_forbidden(found)


def print_forbidden(found: dict[bool, dict[tuple[Cell, int], Counter[Verdict]]]) -> None:
    """Print how often what must never be was given."""
    equal = false = ten_same = opposite = 0
    for cells in found.values():
        for (cell, _), words in cells.items():
            if cell.slower == 0:
                equal += sum(words.values())
                false += words[Verdict.FASTER] + words[Verdict.SLOWER]
            else:
                opposite += words[Verdict.FASTER]
            ten_same += words[Verdict.SAME] if cell.slower >= 10 else 0
    print(
        f" equals FASTER or SLOWER: {false} of {equal} (wanted: 1 of 100 at most); 10% or more SAME: {ten_same}"
        f" (wanted: 0); slower ones FASTER: {opposite} (wanted: 0)",
        flush=True,
    )


@click.command()
@click.option("--pairs", default=12, show_default=True, help="Of each kind, through the real engine.")
@click.option("--most", default=60, show_default=True, help="Of equals and of 3% at little jitter.")
@click.option("--neighbors", type=click.IntRange(0, 2), help="Busy neighbors.  [default: 0, then 1, then 2]")
@click.option("--only", default="", help="Kinds whose name contains this text, such as: jitter  0.5%.")
def main(pairs: int, most: int, neighbors: int | None, only: str) -> None:
    """Print how often each verdict came."""
    with tempfile.TemporaryDirectory() as folder:
        isolate(folder)
        os.environ["OMP_NUM_THREADS"] = "1"
        for amount in (0, 1, 2) if neighbors is None else (neighbors,):
            real(wanted_cells(pairs, pairs if amount else most, only), Path(folder), amount)


if __name__ == "__main__":
    main()

"""Searches of real grids on this machine, whose step times are planted: is the choice near the true best?

``python tests/bench/find/grids.py --grids 5`` runs ``find`` on own steps of known lengths through the real
engine, each case in a fresh process, and compares each answer with the truth.
"""

import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from math import exp
from pathlib import Path
from statistics import fmean

import click
import numpy as np
import tomlkit
from planted_step import PRODUCTS, key

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from lab import isolate

from benchtui.engine import client
from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.estimates.stop_limits import LEAST_STEPS
from benchtui.sessions.permissions.needed import keys, needed_permissions
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Config, named_values
from benchtui.sessions.sweep.toml_reader import parse_sweep

PRECISIONS, KERNELS, SIZES = ("fp32", "bf16", "fp16"), (1, 2, 3, 4), (1, 2, 4, 8)
EFFECT, NONE, INTERACTION = 0.25, 0.25, 0.04
"""Deviation of the logarithm of a value's effect, probability that it has none, and of combinations."""
BASELINE = {"batch_size": 1, "precision": "fp32"}
BASE_PRODUCTS = (100, 1500)
ROUNDS = 5
"""Rounds of the full grid that a search is compared with."""


@dataclass(frozen=True)
class Grid:
    """A grid with the planted products per step of each case."""

    precisions: tuple[str, ...]
    kernels: tuple[int, ...]
    sizes: tuple[int, ...]
    products: dict[str, int]

    def sample(self, config: Config) -> float:
        """Return the true cost of a sample of a case."""
        kernel = named_values.texts(config.parameters)["kernel"]
        name = key(config.precision, kernel, config.batch_size)
        return self.products[name] / config.batch_size


def draw(dice: np.random.Generator) -> Grid:
    """Draw a grid of 4 to 48 cases, whose options multiply but for small interactions."""
    precisions, kernels, sizes = (
        values[: dice.integers(least, len(values) + 1)]
        for values, least in ((PRECISIONS, 1), (KERNELS, 2), (SIZES, 2))
    )
    effects = {
        value: dice.normal(0, EFFECT) if dice.random() > NONE else 0.0
        for value in (*precisions[1:], *kernels[1:])
    }
    base, overhead = dice.uniform(*BASE_PRODUCTS), dice.uniform(0.05, 0.9)
    products = {
        key(precision, kernel, size): round(
            base
            * (overhead + (1 - overhead) * size)
            * exp(effects.get(precision, 0) + effects.get(kernel, 0) + dice.normal(0, INTERACTION))
        )
        for precision in precisions
        for kernel in kernels
        for size in sizes
    }
    return Grid(precisions, kernels, sizes, products)


def search(grid: Grid, path: Path, within_s: float) -> tuple[Session, float]:
    """Run a search of a grid; return its session, and the seconds that it took."""
    table = {
        "name": "grid",
        "task": f"{Path(__file__).with_name('planted_step.py')}:make_step",
        "axes": {
            "precision": grid.precisions,
            "parameters": {"kernel": grid.kernels},
            "batch_size": grid.sizes,
            "threads": 1,
        },
        "measure": {"rounds": "auto", "iterations": LEAST_STEPS, "peaks": False, "baseline": BASELINE},
        "run": {"budget": within_s, "wait_for_quiet": within_s / 10},
        "find": {"objective": "throughput"},
        "env": {PRODUCTS: json.dumps(grid.products)},
    }
    sweep = parse_sweep(tomlkit.dumps(table), "grid", ())
    begin_s = time.monotonic()
    engine = client.start(sweep, path, keys(needed_permissions(sweep)))
    while engine.alive():
        time.sleep(0.1)
    return Session.load(engine.path, metrics), time.monotonic() - begin_s


def report(grid: Grid, session: Session, seconds: float) -> float | None:
    """Print what a search answered; return the true loss of its choice, None without one."""
    looked = [case for case in session.cases if case.ends]
    full_s = ROUNDS * len(session.cases) * fmean(case.newest_round_s for case in looked)
    works = conclude(session).works
    choice = works[0] if works else None
    measured = f"{len(looked):2} of {len(session.cases):2} cases measured"
    text = f"{measured}, {seconds:5.1f} s, {100 * seconds / full_s:3.0f}% of five rounds"
    if choice is None:
        print(f"{text}: no answer", flush=True)
        return None
    best = min(grid.sample(case.config) for case in session.cases)
    loss, decision = grid.sample(choice.best.config) / best - 1, choice.choice
    within = "-" if decision.within is None else f"{100 * decision.within:.1f}%"
    sure = "clear" if decision.clear else "recommended" if choice.decided else "not decided"
    disturbed = sum(bool(case.marks) and "disturbed" in str(case.marks) for case in looked)
    print(
        f"{text}: {choice.best.name}, {sure}, within {within}; true loss {100 * loss:.1f}%"
        f"{f'; {disturbed} disturbed' if disturbed else ''}",
        flush=True,
    )
    return loss


@click.command()
@click.option("--grids", default=5, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--within", default=40.0, show_default=True, help="Seconds of a search.")
def main(grids: int, seed: int, within: float) -> None:
    """Print the answer of each search beside the truth."""
    dice, losses = np.random.default_rng(seed), []
    with tempfile.TemporaryDirectory() as folder:
        isolate(folder)
        os.environ["OMP_NUM_THREADS"] = "1"
        for number in range(grids):
            grid = draw(dice)
            losses.append(report(grid, *search(grid, Path(folder) / f"{number}.json", within)))
    near = sum(loss is not None and loss <= 0.03 for loss in losses)
    print(f"within 3% of the true best: {near} of {grids}")


if __name__ == "__main__":
    main()

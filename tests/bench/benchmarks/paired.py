"""How far cases that take turns differ between pairs of fresh processes of the real engine's node.

``python tests/bench/benchmarks/paired.py --seconds 220 -o FILE`` measures rounds by turns of cases that differ
by 0, 5, 10 and 20%, and writes the logarithm of each ratio with its error. Given such files, it prints how
often each verdict comes out of rounds drawn from them.
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from math import log
from pathlib import Path
from random import Random
from time import monotonic

import click
import numpy as np
from timed_step import CASES

from benchtui.engine.event_loop import EventLoop
from benchtui.engine.executor import ExecutorContext
from benchtui.engine.job import Job, TurnOrder
from benchtui.engine.node.protocol import OpenNode
from benchtui.engine.node.runner import NodeRunner
from benchtui.sessions.events import CaseFinished, Steps
from benchtui.sessions.payloads import CaseRound
from benchtui.sessions.stats.distribution import median, slices_of
from benchtui.sessions.stats.noise import Spread
from benchtui.sessions.stats.ratios import estimate_by_turns
from benchtui.sessions.stats.sampling import Statistic
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Axes, Config, Measure, Sweep

PRODUCTS = 100
SLOWER = (0, 5, 10, 20)
PLAN = (0, 0, 5, 0, 10, 0, 20)
ROUNDS = (3, 4, 6, 8, 12)
DRAWS = 400


def paired_round(node: NodeRunner, sweep: Sweep, lengths: tuple[int, int]) -> tuple[Statistic, float]:
    """Return the ratio of two cases in a pair of fresh processes, and that of their medians alone."""
    runs = {}
    for case in (0, 1):
        rounds = tuple(CaseRound(case=each, round=0) for each in (0, 1))
        turns = TurnOrder(rounds=rounds, place=case)
        config = Config(device="cpu", threads=1, sequence_length=lengths[case])
        runs[case] = node.start(
            Job(case=case, config=config, sweep=sweep, zero_s=0.0, scratch="s", turns=turns)
        )
    times: dict[int, list[float]] = {0: [], 1: []}
    ends: dict[int, CaseFinished] = {}
    loop = EventLoop()
    while len(ends) < 2:
        waiting = [run for case, run in runs.items() if case not in ends]
        loop.wait([source for run in waiting for source in run.sources], min(run.left_s for run in waiting))
        for event in (event for run in waiting for event in run.collect(node.now_s())):
            if isinstance(event, Steps) and event.phase == "measure":
                times[event.case] += event.wall_ms
            if isinstance(event, CaseFinished):
                ends[event.case] = event
    slices = []
    for case, end in ends.items():
        if end.turns is None:
            raise RuntimeError(end.reason)
        slices.append((case, slices_of(times[case], end.turns, 0)))
    one, other = (each.medians_ms for _, each in sorted(slices) if each)
    ratio = median([first / second for first, second in zip(one, other, strict=False)])
    if ratio is None:
        raise RuntimeError("no turns")
    return ratio, float(np.median(times[0]) / np.median(times[1]))


def measure(seconds: float, output: Path) -> None:
    """Measure until the time is up."""
    wanted = [PRODUCTS, *(PRODUCTS * (1 + slower / 100) for slower in SLOWER)]
    cases = [{"products": each, "jitter": 0.02, "fast": 0, "fast_products": 0} for each in wanted]
    os.environ[CASES] = json.dumps(cases)
    task = f"{Path(__file__).with_name('timed_step.py')}:make_step"
    sweep = Sweep(name="pairs", model="none", task=task, axes=Axes(), measure=Measure(warmup=5, peaks=False))
    node, begin_s = NodeRunner(), monotonic()
    node.open(ExecutorContext(OpenNode(zero_s=begin_s), EventLoop(), lambda event: None))
    rows: list[tuple[int, float, float, float]] = []
    try:
        for slower in cycle(PLAN):
            if monotonic() - begin_s > seconds:
                break
            ratio, alone = paired_round(node, sweep, (1, 2 + SLOWER.index(slower)))
            rows.append((slower, log(ratio.ms), ratio.error or 0.0, log(alone)))
            output.write_text(json.dumps(rows))
    finally:
        node.close()


def judge(rows: Sequence[tuple[int, float, float, float]]) -> None:
    """Print what the rounds say."""
    dice = Random(1)
    for slower in SLOWER:
        own = [row for row in rows if row[0] == slower]
        logs = np.array([row[1:] for row in own])
        print(
            f"{slower:2}%: {len(own)} rounds, mean {100 * logs[:, 0].mean():.2f}%, deviation"
            f" {100 * logs[:, 0].std(ddof=1):.2f}%, error within {100 * logs[:, 1].mean():.2f}%,"
            f" deviation of plain medians {100 * logs[:, 2].std(ddof=1):.2f}%"
        )
        for rounds in (each for each in ROUNDS if each <= len(own)):
            words: Counter[str] = Counter()
            for _ in range(DRAWS):
                drawn = [Statistic(float(np.exp(row[1])), row[2]) for row in dice.sample(own, rounds)]
                estimate = estimate_by_turns(drawn, Spread(), Spread())
                bounds = estimate.bounds() if estimate else None
                words[Ratio(1.0, bounds, same_within=0.02).verdict.value if bounds else "-"] += 1
            shares = " ".join(f"{word} {100 * amount / DRAWS:.0f}" for word, amount in sorted(words.items()))
            print(f"    {rounds:2} rounds: {shares}")


@click.command(help=__doc__)
@click.option("--seconds", default=0.0)
@click.option("-o", "--output", type=Path, default=Path("paired.json"))
@click.argument("files", nargs=-1, type=Path)
def main(seconds: float, output: Path, files: tuple[Path, ...]) -> None:
    """Measure, or judge what was measured."""
    if seconds:
        measure(seconds, output)
    rows = [tuple(row) for file in files or (output,) for row in json.loads(file.read_text())]
    judge(rows)


if __name__ == "__main__":
    main()

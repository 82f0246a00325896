"""Real workers that take turns, and what remains when one of them fails."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from time import monotonic

import pytest

from benchtui.engine.event_loop import EventLoop
from benchtui.engine.executor import Execution, ExecutorContext
from benchtui.engine.job import Job, TurnOrder
from benchtui.engine.node.protocol import OpenNode
from benchtui.engine.node.runner import NodeRunner
from benchtui.sessions.events import CaseFinished, Steps
from benchtui.sessions.payloads import CaseRound
from benchtui.sessions.sweep import Sweep, cases

BODY = """
import time
from pathlib import Path
log = Path(__file__).with_name("log").open("a")
def step():
    if case.precision == "fp16":
        raise ValueError("no")
    log.write(case.precision + " ")
    log.flush()
    time.sleep(0.004)
return Step(step)"""


@pytest.fixture
def node() -> Iterator[NodeRunner]:
    runner = NodeRunner()
    runner.open(ExecutorContext(OpenNode(zero_s=monotonic()), EventLoop(), lambda event: None))
    yield runner
    runner.close()


def run_all(node: NodeRunner, sweep: Sweep) -> tuple[list[CaseFinished], list[int]]:
    """Return the ends of all cases, which take turns, and the measured steps of each."""
    plan, runs = cases(sweep), []
    steps = [0] * len(plan)
    rounds = tuple(CaseRound(case=case.index, round=3) for case in plan)
    for place, case in enumerate(plan):
        turns = TurnOrder(rounds=rounds, place=place)
        job = Job(case=place, config=case.config, sweep=sweep, zero_s=0.0, scratch="s", turns=turns)
        runs.append(node.start(job))
    ends: dict[int, CaseFinished] = {}
    loop = EventLoop()
    while len(ends) < len(plan):
        waiting: list[Execution] = [run for case, run in enumerate(runs) if case not in ends]
        loop.wait([source for run in waiting for source in run.sources], min(run.left_s for run in waiting))
        for event in (event for run in waiting for event in run.collect(node.now_s())):
            if isinstance(event, Steps) and event.phase == "measure":
                steps[event.case] += len(event.wall_ms)
            if isinstance(event, CaseFinished):
                ends[event.case] = event
    return [ends[case] for case in sorted(ends)], steps


@pytest.mark.parametrize("precisions", ["fp32,bf16", "fp32,bf16,tf32"])
def test_processes_are_measured_by_turns(
    node: NodeRunner, own: Callable[..., Sweep], tmp_path: Path, precisions: str
) -> None:
    ends, steps = run_all(node, own(BODY, f"precision={precisions}", "iterations=5"))
    assert {end.outcome for end in ends} == {"ok"}, [end.reason for end in ends]
    for case, end in enumerate(ends):
        assert end.turns and end.measured_s and end.environment and end.energy and end.memory
        assert end.turns.partners == {other: 3 for other in range(len(ends)) if other != case}
        assert end.environment.beside == 0 and end.energy.energy_j is None
        assert end.memory.peak_rss_mb
    slices = {amount / end.turns.slice_steps for amount, end in zip(steps, ends, strict=True) if end.turns}
    assert max(slices) - min(slices) <= 1 and min(slices) > 10
    log = (tmp_path / "log").read_text().split()
    switches = sum(one != other for one, other in pairwise(log))
    assert switches >= len(ends) * min(slices) - 1
    spans = [end.measured_s for end in ends if end.measured_s]
    assert max(begin_s for begin_s, _ in spans) < min(end_s for _, end_s in spans), "at the same time"


def test_failure_of_one_lets_the_other_end(node: NodeRunner, own: Callable[..., Sweep]) -> None:
    ends, steps = run_all(node, own(BODY, "precision=fp32,fp16", "iterations=5"))
    assert [end.outcome for end in ends] == ["ok", "failed"]
    assert steps[0] > 5 and steps[1] == 0
    assert ends[0].turns is None


def test_failure_of_one_of_three_lets_the_others_end(node: NodeRunner, own: Callable[..., Sweep]) -> None:
    ends, steps = run_all(node, own(BODY, "precision=fp32,fp16,bf16", "iterations=5"))
    assert [end.outcome for end in ends] == ["ok", "failed", "ok"]
    assert min(steps[0], steps[2]) > 5

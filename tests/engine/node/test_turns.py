"""Two real workers that take turns, and what remains when one of them fails."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from time import monotonic

import pytest

from benchtui.engine.event_loop import EventLoop
from benchtui.engine.executor import Execution
from benchtui.engine.job import Job, Partner
from benchtui.engine.node.runner import NodeRunner, NodeSettings
from benchtui.sessions.events import CaseFinished, Steps
from benchtui.sessions.payloads import Turns
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
    runner.open(NodeSettings(zero_s=monotonic()), lambda event: None)
    yield runner
    runner.close()


def run_both(node: NodeRunner, sweep: Sweep) -> tuple[list[CaseFinished], dict[int, int]]:
    """Return the ends of two cases that take turns, and the measured steps of each."""
    plan, runs, steps = cases(sweep), [], {0: 0, 1: 0}
    for case, partner in ((0, 1), (1, 0)):
        turns = Partner(case=partner, round=3, first=case == 0)
        job = Job(case=case, config=plan[case].config, sweep=sweep, zero_s=0.0, scratch="s", partner=turns)
        runs.append(node.start(job))
    ends: dict[int, CaseFinished] = {}
    loop = EventLoop()
    while len(ends) < 2:
        waiting: list[Execution] = [run for case, run in enumerate(runs) if case not in ends]
        loop.wait([source for run in waiting for source in run.sources], min(run.left_s for run in waiting))
        for event in (event for run in waiting for event in run.collect(node.now_s())):
            if isinstance(event, Steps) and event.phase == "measure":
                steps[event.case] += len(event.wall_ms)
            if isinstance(event, CaseFinished):
                ends[event.case] = event
    return [ends[0], ends[1]], steps


def test_two_processes_are_measured_by_turns(
    node: NodeRunner, own: Callable[..., Sweep], tmp_path: Path
) -> None:
    ends, steps = run_both(node, own(BODY, "precision=fp32,bf16", "iterations=5"))
    assert [end.outcome for end in ends] == ["ok", "ok"], [end.reason for end in ends]
    for end, partner in zip(ends, (1, 0), strict=True):
        assert end.turns and end.measured_s and end.environment and end.energy and end.memory
        assert (end.turns.case, end.turns.round) == (partner, 3)
        assert end.environment.beside == 0 and end.energy.energy_j is None
        assert end.memory.peak_rss_mb
    slices = [steps[case] / end.turns.slice_steps for case, end in enumerate(ends) if end.turns]
    assert slices[0] == slices[1] > 10
    log = (tmp_path / "log").read_text().split()
    switches = sum(one != other for one, other in pairwise(log))
    assert switches >= 2 * slices[0] - 1
    spans = [end.measured_s for end in ends if end.measured_s]
    assert spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1], "at the same time"


def test_failure_of_one_lets_the_other_end(node: NodeRunner, own: Callable[..., Sweep]) -> None:
    ends, steps = run_both(node, own(BODY, "precision=fp32,fp16", "iterations=5"))
    assert [end.outcome for end in ends] == ["ok", "failed"]
    assert steps[0] > 5 and steps[1] == 0
    assert isinstance(ends[0].turns, Turns)

"""Cases next to busy processes: real workers, a real neighbor, and what the session says about them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from watching import Watched

from benchtui.engine.telemetry.neighbors.idle import IdleProbe
from benchtui.sessions.events import CaseFinished, Idle, Waiting
from benchtui.sessions.stats.disturbance import KINDS, in_some_rounds, is_noisy, mark_kind
from benchtui.sessions.stats.ratios import latency_ratio
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.verdicts import Doubt, Verdict
from benchtui.sessions.sweep import Sweep

Neighbor = subprocess.Popen[bytes]
NAME = "busy-neighbor"
BURN = """
n = round(200_000 * float(case.parameters["work"]))
return Step(lambda: sum(range(n)))
"""
SHORT = ("iterations=100", "warmup=1", "answers=false", "run.wait_for_quiet=6s")


@pytest.fixture
def neighbor(tmp_path: Path) -> Iterator[Callable[[], Neighbor]]:
    """Start a process that keeps every processor busy, under a name that can be recognized."""
    program = tmp_path / NAME
    program.symlink_to(sys.executable)
    code = "import os\nfor _ in range(os.cpu_count() - 1):\n    if not os.fork(): break\nwhile True: pass"
    with ExitStack() as stack:

        def start() -> Neighbor:
            started = subprocess.Popen([program, "-c", code], process_group=0)
            stack.callback(stop, started)
            return started

        yield start


def stop(process: Neighbor) -> None:
    """Kill the process and those that it has forked, unless that has been done."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def busy_percent() -> float:
    """Use of the processors by all processes but this one, over half a second."""
    probe = IdleProbe()
    time.sleep(0.5)
    return probe.since(0.0).others_cpu_percent or 0.0


def test_next_to_a_neighbor_that_never_leaves_nothing_is_decided(
    own: Callable[..., Sweep], start: Callable[[Sweep], Watched], neighbor: Callable[[], Neighbor]
) -> None:
    neighbor()
    session = start(own(BURN, "axes.parameters.work=[1, 10]", *SHORT)).until_ended()
    assert [case.state for case in session.cases] == ["ok", "ok"]
    for case in session.cases:
        assert any(mark.startswith("disturbed: other processes used") for mark in case.marks)
        assert case.finished is not None and case.finished.environment is not None
        assert case.finished.environment.neighbors
    assert session.machine.idle is not None and session.machine.idle.neighbors
    texts = [message.text for message in session.messages]
    assert any("waiting for quiet, at most 6 s" in text for text in texts)
    assert any("the disturbed measurement counts" in text for text in texts)
    base, new = measured(session)
    ratio = latency_ratio(base, new)
    assert ratio is not None and ratio.value < 0.5, "it takes ten times as long"
    assert (ratio.verdict, ratio.doubt) == (Verdict.UNSURE, Doubt.OUTSIDE)


@pytest.mark.long
def test_case_next_to_a_neighbor_that_leaves_is_measured_again(
    own: Callable[..., Sweep],
    start: Callable[[Sweep], Watched],
    neighbor: Callable[[], subprocess.Popen[bytes]],
) -> None:
    if is_noisy(busy_percent(), None):
        pytest.skip("this machine is busy already, so that no case is ever measured without neighbors")
    watched = start(own(BURN, "axes.parameters.work=[1]", *SHORT, "run.wait_for_quiet=60s"))
    watched.until(lambda: any(isinstance(event, Idle) for event in watched.events))
    busy = neighbor()
    watched.until(lambda: watched.session.waiting)
    (waiting,) = watched.session.waiting
    assert NAME in waiting.reason
    stop(busy)
    session = watched.until_ended()
    (case,) = session.cases
    assert len(case.repeated) == 1 and NAME in case.repeated[0].reason
    assert all(mark_kind(mark) not in KINDS or in_some_rounds(mark) for mark in case.marks), case.marks
    assert [type(event) for event in watched.events if isinstance(event, Waiting | CaseFinished)] == [
        Waiting,
        CaseFinished,
    ]

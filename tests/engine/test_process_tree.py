"""Orphans of dead workers are found among those of living ones."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from benchtui.engine.process_tree import is_running, kill_orphans

WORKER = r"""
import os, subprocess, sys, time
from benchtui.engine.process_tree import adopt_orphans
os.setsid()
adopt_orphans()
child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
os.write(1, b"%d %d\n" % (os.getpid(), child.pid))  # in one piece, even if Python doesn't buffer
{end}
"""
ADOPTER = """
import subprocess, sys, time
from benchtui.engine.process_tree import adopt_orphans
adopt_orphans()
own = subprocess.Popen(["sleep", "1000"])
print(own.pid, flush=True)
subprocess.Popen([sys.executable, "-c", sys.argv[1]])
subprocess.Popen([sys.executable, "-c", sys.argv[2]]).wait()
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def adopter() -> Iterator[subprocess.Popen[str]]:
    """A process with a child of its own, a worker that lives and one that has died, each with a child."""
    living, dead = WORKER.format(end="time.sleep(1000)"), WORKER.format(end="os.kill(os.getpid(), 9)")
    process = subprocess.Popen([sys.executable, "-c", ADOPTER, living, dead], stdout=subprocess.PIPE, text=True)
    yield process
    for each in [*psutil.Process(process.pid).children(recursive=True), process]:
        each.kill()
    process.communicate()


def test_only_orphans_of_dead_workers_are_killed(adopter: subprocess.Popen[str]) -> None:
    assert adopter.stdout is not None
    said: list[str] = []
    while "ready" not in said or len(said) < 6:
        said += adopter.stdout.readline().split()
    said.remove("ready")
    own, *pairs = map(int, said)
    children = {worker: child for worker, child in zip(pairs[::2], pairs[1::2], strict=True)}
    (dead,) = (worker for worker in children if not is_running(worker))
    (living,) = children.keys() - {dead}
    assert psutil.Process(children[dead]).ppid() == adopter.pid
    kill_orphans([adopter.pid], [living])
    deadline_s = time.monotonic() + 10
    while is_running(children[dead]) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert [is_running(pid) for pid in (children[dead], living, children[living], own)] == [
        False,
        True,
        True,
        True,
    ]
    assert os.getsid(own) == os.getsid(0)

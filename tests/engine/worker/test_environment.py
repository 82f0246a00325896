import subprocess
import sys
from time import monotonic

import pytest

from benchtui.engine.worker.environment import EnvironmentProbe

BUSY_S = 0.3
WORK = f"""
import sys, time
while time.process_time() < {BUSY_S}:
    pass
print("done", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("ends", [False, True])
def test_children_of_the_worker_count_as_its_own(ends: bool) -> None:
    surroundings, begin_s = EnvironmentProbe(), monotonic()
    command = [sys.executable, "-c", WORK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as loader:
        assert loader.stdout is not None and loader.stdout.readline() == b"done\n"
        if ends:
            loader.communicate()
        seen, span_s = surroundings.since(), monotonic() - begin_s
    # of processes that still run the kernel tells in ticks
    assert seen.worker_cpu is not None and seen.worker_cpu * span_s >= 0.9 * BUSY_S

"""What crowds at the control socket cost the steps of a case: 3,000 idle clients, and 200 that ask without end.

The clients use a whole core themselves, so the reference is a process that only computes. The two alternate
every few seconds while the real engine measures a single-threaded torch step.
"""

import mmap
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import psutil
from lab import isolate

from benchtui.engine import client
from benchtui.engine.control import socket_path
from benchtui.sessions.permissions.needed import keys, needed_permissions
from benchtui.sessions.sweep import Axes, Measure, Sweep

NOTES, TURN = "STORM_NOTES", "STORM_TURN"
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    pass"
FAULTS = Path(__file__).parents[1] / "faults"
STEP = f"""
import mmap, os, time
import torch

class Step:
    samples = 1
    def __init__(self, case):
        self.notes = open(os.environ[{NOTES!r}], "w", buffering=1)
        with open(os.environ[{TURN!r}], "rb") as file:
            self.turn = mmap.mmap(file.fileno(), 1, prot=mmap.PROT_READ)
        self.left = torch.randn(256, 256)
    @torch.inference_mode()
    def step(self):
        before, began = self.turn[0], time.perf_counter()
        for _ in range(4):
            self.left @ self.left
        took_ms = 1000 * (time.perf_counter() - began)
        if before == self.turn[0]:
            self.notes.write(f"{{before}} {{took_ms:.4f}}\\n")

def make(case):
    return Step(case)
"""


def run(turns: int, turn_s: float, folder: Path) -> None:
    """Measure so many turns of each kind, and print the ratio of their typical steps."""
    (folder / "own.py").write_text(STEP)
    turn = folder / "turn"
    turn.write_bytes(b"\0")
    notes = folder / "notes"
    sweep = Sweep(
        name="storm",
        model="none",
        task=f"{folder / 'own.py'}:make",
        axes=Axes(threads=(1,)),
        measure=Measure(warmup=3, iterations=10_000_000, peaks=False),
        env={NOTES: str(notes), TURN: str(turn)},
    )
    engine = client.start(sweep, folder / "s.json", keys(needed_permissions(sweep)))
    while not notes.exists():
        time.sleep(0.1)
    supervisor, used_s = psutil.Process(engine.pid), [0.0, 0.0, 0.0]
    with turn.open("r+b") as file, mmap.mmap(file.fileno(), 1) as now:
        for number in range(2 * turns):
            kind = 1 + (number + number // 2) % 2  # 1 2 2 1: what drifts, drifts for both
            other = _start_clients(engine.session_id) if kind == 2 else _start_busy_process()
            time.sleep(1.0)
            before_s = sum(supervisor.cpu_times()[:2])
            now[0] = kind
            time.sleep(turn_s)
            now[0] = 0
            used_s[kind] += sum(supervisor.cpu_times()[:2]) - before_s
            _kill(other)
    engine.stop()
    while engine.alive():
        time.sleep(0.1)
    steps: dict[str, list[float]] = {"1": [], "2": []}
    for line in notes.read_text().splitlines():
        kind_, ms = line.split()
        if kind_ in steps:
            steps[kind_].append(float(ms))
    beside, crowds = (statistics.median(steps[each]) for each in "12")
    shares = [100 * used_s[kind] / (turns * turn_s) for kind in (1, 2)]
    print(
        f"{turns} turns of {turn_s:g} s each: {beside:.3f} ms a step beside a process that computes"
        f" ({len(steps['1']):,} steps), {crowds:.3f} ms beside the crowds ({len(steps['2']):,} steps):"
        f" ratio {crowds / beside:.3f}; the engine used {shares[0]:.1f}% and {shares[1]:.1f}% of a processor"
    )


def _start_clients(session_id: str) -> subprocess.Popen[bytes]:
    path = str(socket_path(session_id))
    return subprocess.Popen(
        [sys.executable, FAULTS / "storm.py", path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )


def _start_busy_process() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


@click.command()
@click.option("--turns", default=10, show_default=True, help="Of each kind.")
@click.option("--turn-s", default=3.0, show_default=True, help="Of how many seconds.")
def main(turns: int, turn_s: float) -> None:
    """Print the ratio of step times."""
    with tempfile.TemporaryDirectory(prefix="bt-", dir="/tmp") as folder:
        isolate(folder)
        os.environ["OMP_NUM_THREADS"] = "1"
        run(turns, turn_s, Path(folder))


if __name__ == "__main__":
    main()

"""Two programs in turns of two seconds, one stopped while the other runs: what disturbs, disturbs both.

A machine that others use drifts by a tenth within a minute. Runs one after the other say little there about a
hundredth; turns this short do. A step in which a program was stopped is longer than a turn, and left out.
"""

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchtui.engine import client

TURN_S = 2.0


class PlainLoop:
    """A script that prints ``ready`` and then the milliseconds of each step, until it is ended."""

    def __init__(self, command: list[str], output: Path) -> None:
        """Start it, and stop it as soon as it is ready for its first step."""
        self._output = output
        with output.open("wb") as file:
            self._process = subprocess.Popen(command, stdout=file)
        while b"ready" not in output.read_bytes():
            if self._process.poll() is not None:
                raise RuntimeError(f"the plain loop ended with exit status {self._process.returncode}")
            time.sleep(0.1)
        self.processes = [psutil.Process(self._process.pid)]
        send(self.processes, signal.SIGSTOP)

    def end(self, warmup: int) -> list[float]:
        """End it; gives its steps after the first few."""
        self._process.kill()
        self._process.wait()
        return [float(line) for line in self._output.read_text().splitlines()[1 + warmup :]]


@dataclass(frozen=True)
class CpuUsage:
    """What benchtui's own processes used of a processor while they ran, in percent."""

    screen: float
    engine: float
    """Supervisor, samplers and journal."""


def alternate_with_sweep(session: Path, screen: int | None, plain: PlainLoop) -> CpuUsage:
    """Let a sweep and a plain loop run in turns until the sweep has ended; ``screen`` is the app's process."""
    while not (session.exists() and b'"phase":"measure"' in session.read_bytes()):
        time.sleep(0.1)
    found = client.find(session)
    if found is None:
        raise RuntimeError("the sweep has ended before the first turn")
    engine, app = psutil.Process(found.pid), psutil.Process(screen) if screen else None
    ours = [engine, *engine.children(recursive=True), *([app] if app else [])]
    ran_s, used_s = 0.0, {process: 0.0 for process in (engine, app) if process}
    while not session.read_bytes().endswith(b"]\n"):
        send(ours, signal.SIGSTOP)
        send(plain.processes, signal.SIGCONT)
        time.sleep(TURN_S)
        send(plain.processes, signal.SIGSTOP)
        before_s = {process: cpu_s(process) for process in used_s}
        send(ours, signal.SIGCONT)
        time.sleep(TURN_S)
        after_s = {process: cpu_s(process) for process in used_s}
        if all(after_s.values()):  # else it ended in this turn
            ran_s += TURN_S
            used_s = {process: used + after_s[process] - before_s[process] for process, used in used_s.items()}
    shares = (100 * used_s.get(process, 0.0) / ran_s if process and ran_s else 0.0 for process in (app, engine))
    return CpuUsage(*shares)


def alternate(one: PlainLoop, other: PlainLoop, turns: int) -> None:
    """Let two plain loops run in turns, this many each."""
    for loop in (one, other) * turns:
        send(loop.processes, signal.SIGCONT)
        time.sleep(TURN_S)
        send(loop.processes, signal.SIGSTOP)


def cpu_s(process: psutil.Process) -> float:
    """Seconds of a processor that a process has used; 0 of one that has ended."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.NoSuchProcess:
        return 0.0


def ratio(
    ours_ms: Iterable[float], plain_ms: Iterable[float], names: tuple[str, str] = ("benchtui", "plain")
) -> tuple[float, str]:
    """Median step of ours over that of the plain loop, with both in words."""
    kept = [[time_ms for time_ms in times if time_ms < 1000 * TURN_S] for times in (ours_ms, plain_ms)]
    ours, theirs = map(statistics.median, kept)
    counts = f"n {len(kept[0])} and {len(kept[1])}"
    return ours / theirs, f"{names[0]} {ours:8.2f} ms  {names[1]} {theirs:8.2f} ms  {counts}"


def send(processes: Iterable[psutil.Process], number: int) -> None:
    """Send a signal to each that still lives."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


Run = Callable[[], tuple[float, str]]


def print_ratios(name: str, runs: int, run: Run) -> None:
    """Print the ratio of each run, and their median."""
    ratios = []
    for number in range(runs):
        found, words = run()
        ratios.append(found)
        print(f"{name}  run {number + 1}/{runs}  {words}  ratio {found:.3f}", flush=True)
    print(
        f"{name}  ratio of median steps: median {statistics.median(ratios):.3f},"
        f" least {min(ratios):.3f}, most {max(ratios):.3f}, {runs} runs",
        flush=True,
    )

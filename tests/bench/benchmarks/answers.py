"""Step times and memory peaks with the probe over those without: `python tests/bench/benchmarks/answers.py`.

Two sweeps of one case, with `answers` on and off, measure in turns of a quarter of a second: one is stopped
while the other runs, so that what drifts changes both. The 10th percentile of the steps is compared besides
the median, since it is less disturbed. The probe runs after the outcome is reported, so ratios should differ
from 1 by noise alone. How large that is, pairs of sweeps say that are both without.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import click
import psutil
from cold_cost import BIN, model_folder
from turns import send

from benchtui.engine import client
from benchtui.sessions.state.session import Session

SWEEP = """
name = "answers"
model = "{model}"
weights = "random"
[axes]
batch_size = 4
sequence_length = 64
threads = 1
[run]
wait_for_quiet = "off"
[measure]
iterations = {steps}
peaks = false
"""
TURN_S = 0.25
LOW_PERCENT = 10
PATIENCE_S = 60.0
FIGURES = ("step p10", "step p50", "peak RSS")


class Sweep:
    """A sweep of the case in an engine of its own, which can be stopped and continued."""

    def __init__(self, sweep: Path, name: str, *, answers: bool) -> None:
        """Start it, and stop it when its first steps have been measured."""
        self.path = sweep.with_name(f"{name}.json")
        self.path.unlink(missing_ok=True)
        self._answers = answers
        switch = f"answers={str(answers).lower()}"
        command = [str(BIN / "benchtui"), "run", str(sweep), "-o", str(self.path), "--set", switch]
        self._command = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._processes: list[psutil.Process] = []
        try:
            self._await_steps()
        except BaseException:
            self.kill()
            raise

    def _await_steps(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not (self.path.exists() and b'"phase":"measure"' in self.path.read_bytes()):
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.path.name} has measured nothing for {PATIENCE_S:.0f} s")
            time.sleep(0.05)
        found = client.find(self.path)
        if found is None:
            raise SystemExit("the sweep has ended before the first turn: use more --steps")
        self._processes = _tree(found.pid)
        self.stop()

    def stop(self) -> None:
        """Stop all its processes."""
        send(self._processes, signal.SIGSTOP)

    def run(self) -> None:
        """Continue all its processes."""
        send(self._processes, signal.SIGCONT)

    def kill(self) -> None:
        """End all its processes, whatever they do."""
        found = client.find(self.path)
        known = {*self._processes, *(_tree(found.pid) if found else ())}
        send([each for each in known if each.is_running()], signal.SIGKILL)
        self._command.kill()
        self._command.wait()

    @property
    def measured(self) -> bool:
        """Whether it has measured all its steps."""
        return b'"event":"case_finished"' in self.path.read_bytes()

    def end(self) -> tuple[float, ...]:
        """Wait for its end. Return 10th percentile and median of its steps in ms, and its peak RSS in MB.

        Steps in which it was stopped are left out.
        """
        self.run()
        self._command.wait()
        (case,) = Session.load(self.path).cases
        kept = [ms for ms in case.measured.wall_ms if ms < 1000 * TURN_S]
        if case.state != "ok" or case.peak_memory_mb is None:
            raise SystemExit(f"the case ended as {case.state}: {case.finished}")
        if (case.answered is not None) is not self._answers:
            raise SystemExit(f"answers = {self._answers} had no effect: {case.answered}")
        low = statistics.quantiles(kept, n=100)[LOW_PERCENT - 1]
        return low, statistics.median(kept), case.peak_memory_mb


def _tree(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        engine = psutil.Process(pid)
        return [engine, *engine.children(recursive=True)]
    return []


def ratios(sweep: Path, answers: tuple[bool, bool]) -> tuple[float, ...]:
    """Return the figures of the first over those of the second, of two sweeps in turns."""
    order = (0, 1) if os.urandom(1)[0] % 2 else (1, 0)
    sweeps: dict[int, Sweep] = {}
    try:
        for place in order:
            sweeps[place] = Sweep(sweep, f"session-{place}", answers=answers[place])
        while not any(each.measured for each in sweeps.values()):
            for place in order:
                sweeps[place].run()
                time.sleep(TURN_S)
                sweeps[place].stop()
        ended = {place: each.end() for place, each in sweeps.items()}
    finally:
        for each in sweeps.values():
            each.kill()
    return tuple(ours / theirs for ours, theirs in zip(ended[0], ended[1], strict=True))


def print_ratios(name: str, found: list[tuple[float, ...]]) -> None:
    """Print the median ratio of each figure, with the least and the most."""
    for what, column in zip(FIGURES, zip(*found, strict=True), strict=True):
        print(
            f"{name}, {what}: median {statistics.median(column):.4f}"
            f" ({min(column):.4f} to {max(column):.4f}, {len(column)} pairs)"
        )


@click.command()
@click.option("--pairs", default=4, show_default=True, help="Pairs of sweeps of each kind.")
@click.option("--steps", default=1000, show_default=True, help="Measured steps of a sweep.")
def main(pairs: int, steps: int) -> None:
    """Print the ratios with the probe over without, and of two sweeps without."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what was started
    found: dict[str, list[tuple[float, ...]]] = {"with over without": [], "without over without": []}
    with tempfile.TemporaryDirectory() as name, suppress(KeyboardInterrupt):
        sweep = Path(name) / "sweep.toml"
        sweep.write_text(SWEEP.format(model=model_folder(Path(name), full=False), steps=steps))
        for pair in range(pairs):
            for kind, answers in zip(found, ((True, False), (False, False)), strict=True):
                found[kind].append(ratios(sweep, answers))
                figures = zip(FIGURES, found[kind][-1], strict=True)
                told = ", ".join(f"{what} {ratio:.4f}" for what, ratio in figures)
                print(f"pair {pair + 1}: {kind}: {told}", flush=True)
        for kind, rows in found.items():
            print_ratios(kind, rows)


if __name__ == "__main__":
    sys.exit(main())

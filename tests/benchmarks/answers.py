"""Step times and memory peaks with the probe over those without: `python tests/benchmarks/answers.py`.

Sessions of one case, with `answers` on and off in turns. The probe runs after the outcome is reported. The
ratio of each pair should differ from 1 by noise alone; the spread of the pairs says how well that is known.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from cold_cost import BIN, model_folder

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics

SWEEP = """
name = "answers"
model = "{model}"
weights = "random"
[axes]
batch_size = 4
sequence_length = 64
[measure]
iterations = {steps}
peaks = false
"""


def measured(sweep: Path, folder: Path, *, answers: bool) -> tuple[float, float]:
    """Median step in milliseconds, and peak RSS in MB, of one session."""
    path = folder / "session.json"
    path.unlink(missing_ok=True)
    switch = f"answers={str(answers).lower()}"
    command = [str(BIN / "benchtui"), "run", str(sweep), "-o", str(path), "--set", switch]
    subprocess.run(command, check=True, capture_output=True)
    (case,) = Session.load(path).cases
    if (case.answered is not None) is not answers:
        raise SystemExit(f"{switch} had no effect: {case.answered}")
    found = metrics(case)
    if found is None or found.latency_ms.median is None or case.peak_memory_mb is None:
        raise SystemExit(f"the case ended as {case.state}")
    return found.latency_ms.median, case.peak_memory_mb


@click.command()
@click.option("--pairs", default=10, help="How many pairs of sessions.")
@click.option("--steps", default=200, help="Measured steps of a session.")
def main(pairs: int, steps: int) -> None:
    """Run the pairs, the order of each reversed, and print the ratios with the probe over without."""
    ratios: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sweep = folder / "sweep.toml"
        sweep.write_text(SWEEP.format(model=model_folder(folder, full=False), steps=steps))
        for pair in range(pairs):
            order = (True, False) if pair % 2 else (False, True)
            found = {answers: measured(sweep, folder, answers=answers) for answers in order}
            time, memory = (found[True][place] / found[False][place] for place in (0, 1))
            ratios.append((time, memory))
            print(f"pair {pair + 1}: step {time:.3f}, peak RSS {memory:.4f}", flush=True)
    for place, what in enumerate(("step time", "peak RSS")):
        column = sorted(each[place] for each in ratios)
        print(
            f"{what} with the probe over without: median {statistics.median(column):.4f}"
            f" ({column[0]:.4f} to {column[-1]:.4f}, {pairs} pairs)"
        )


if __name__ == "__main__":
    sys.exit(main())

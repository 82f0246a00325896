"""Own steps under benchtui over a plain script of the same file: `make bench`.

Each file of ``training_steps`` is imported and run by a plain script and by benchtui, in turns of two seconds
(``turns``). A step whose worker raises must fail with the last line that the plain script prints. Steps of a
library that isn't installed are left out.
"""

import importlib.util
import json
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from plain_loop import BIN, measured_ms
from turns import PlainLoop, alternate_with_sweep, ratio, send

FOLDER = Path(__file__).with_name("training_steps")
STEPS = (
    "loader_0",
    "loader_2",
    "local_class",
    "spawned",
    "persistent",
    "hf_trainer",
    "with_accelerate",
    "with_lightning",
    "compiled",
    "mutual",
    "in_package/step",
    "threads",
)
NEEDS = {"hf_trainer": "accelerate", "with_accelerate": "accelerate", "with_lightning": "lightning"}
RAISES = "raises"
WARMUP = 10


def command(step: str) -> list[str]:
    """The plain script of a step."""
    return [sys.executable, str(FOLDER / "plain.py"), str(FOLDER / f"{step}.py")]


def sweep_of(step: str, folder: Path, steps: int) -> list[str]:
    """The command that measures a step, and its sweep as a file."""
    rules = f"warmup = {WARMUP}\niterations = {steps}\npeaks = false\nanswers = false\n"
    text = f'name = "own"\ntask = "{FOLDER / step}.py:make"\n[run]\nwait_for_quiet = "off"\n[measure]\n{rules}'
    (folder / "own.toml").write_text(text)
    return [
        str(BIN / "benchtui"),
        "run",
        str(folder / "own.toml"),
        "--trust",
        "-o",
        str(folder / "session.json"),
    ]


def run(step: str, steps: int) -> tuple[float, str]:
    """A run under benchtui against the plain script."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = PlainLoop(command(step), folder / "plain.txt")
        plain.processes += plain.processes[0].children(recursive=True)
        send(plain.processes, signal.SIGSTOP)
        try:
            with subprocess.Popen(
                sweep_of(step, folder, steps), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ):
                alternate_with_sweep(folder / "session.json", None, plain)
        finally:
            times_ms = plain.end(WARMUP)
            send(plain.processes[1:], signal.SIGKILL)
        return ratio(measured_ms(folder / "session.json"), times_ms)


def failure() -> tuple[str, str]:
    """The last line of the plain script of a step that fails, and the reason that benchtui gives."""
    plain = subprocess.run(command(RAISES), capture_output=True, text=True, check=False)
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(sweep_of(RAISES, Path(name), 100), capture_output=True, check=False)
        events = json.loads((Path(name) / "session.json").read_bytes())
    reasons = [event.get("reason") for event in events if event["event"] == "case_finished"]
    return plain.stderr.strip().splitlines()[-1], str(reasons[0])


@click.command()
@click.option("--runs", default=3, show_default=True)
@click.option("--steps", default=400, show_default=True, help="Measured steps of each run.")
@click.argument("names", nargs=-1)
def main(runs: int, steps: int, names: tuple[str, ...]) -> None:
    """Print the ratio of each step's median under benchtui to that of the plain script."""
    for step in names or STEPS:
        if step in NEEDS and importlib.util.find_spec(NEEDS[step]) is None:
            print(f"{step:<16} left out: {NEEDS[step]} is not installed", flush=True)
            continue
        found = [run(step, steps) for _ in range(runs)]
        ratios = sorted(each for each, _ in found)
        print(
            f"{step:<16} ratio median {statistics.median(ratios):.3f}, least {ratios[0]:.3f},"
            f" most {ratios[-1]:.3f}; {found[-1][1]}",
            flush=True,
        )
    line, reason = failure()
    print(f"{RAISES:<16} plain: {line}; benchtui: {reason}", flush=True)


if __name__ == "__main__":
    main()

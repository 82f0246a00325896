"""Wall clock and step times of benchtui against optimum-benchmark 0.6.0, run in turns: `make bench`.

Three cases (batch 1, 4 and 8, sequence 128, DistilBERT on the processor), 5 warm-up and 20 measured steps
each, from one folder with weights. optimum-benchmark runs in an environment of its own, since it needs
transformers 4, three benchmarks in one process, each isolated in a child as is its default. A plain loop in
that environment, run between the two, says what its steps take without it. Then: where our wall clock goes,
and how long the same cases take by benchtui's own rules, which end a case once its median is known.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import click
from plain_loop import ARCHITECTURE, BIN, loop_command

from benchtui.sessions.stored_models.hub_cache import bundled_models

BATCHES, LENGTH, WARMUP, STEPS = (1, 4, 8), 128, 5, 20
EQUAL = {"warmup": WARMUP, "iterations": STEPS}
OWN_RULES: dict[str, int] = {}

SAVE = """
import sys
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

source, folder = sys.argv[1:]
AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(source)).save_pretrained(folder)
AutoTokenizer.from_pretrained(source).save_pretrained(folder)
"""

THEIRS = """
import json, sys
from optimum_benchmark import Benchmark, BenchmarkConfig, InferenceConfig, ProcessConfig, PyTorchConfig

if __name__ == "__main__":
    folder, length, warmup, steps, *batches = sys.argv[1], *map(int, sys.argv[2:])
    times = {}
    for batch in batches:
        shapes = {"batch_size": batch, "sequence_length": length, "max_position_embeddings": 1}
        scenario = InferenceConfig(
            latency=True, memory=False, warmup_runs=warmup, iterations=steps, duration=0, input_shapes=shapes
        )
        backend = PyTorchConfig(
            model=folder, task="text-classification", library="transformers", device="cpu", no_weights=False
        )
        config = BenchmarkConfig(name="case", launcher=ProcessConfig(), scenario=scenario, backend=backend)
        report = Benchmark.launch(config).to_dict()
        times[batch] = [1000 * value for value in report["forward"]["latency"]["values"]]
    print("TIMES", json.dumps(times))
"""


def their_times(python: Path, folder: Path, script: Path) -> tuple[float, dict[int, float]]:
    """Wall clock of optimum-benchmark in seconds, and its median steps in milliseconds."""
    numbers = [str(number) for number in (LENGTH, WARMUP, STEPS, *BATCHES)]
    begin_s = perf_counter()
    done = subprocess.run(
        [python, script, folder, *numbers],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        cwd=folder,  # it leaves a log where it runs
    )
    wall_s = perf_counter() - begin_s
    said = next(line for line in done.stdout.splitlines() if line.startswith("TIMES "))
    times = json.loads(said.removeprefix("TIMES "))
    return wall_s, {int(batch): statistics.median(values) for batch, values in times.items()}


def our_times(folder: Path, session: Path, steps: dict[str, int] = EQUAL) -> tuple[float, dict[int, float]]:
    """Wall clock of `benchtui run` in seconds, and its median steps in milliseconds."""
    session.unlink(missing_ok=True)
    settings = {
        "model": folder,
        "weights": "pretrained",
        "device": "cpu",
        "batch_size": ",".join(map(str, BATCHES)),
        "sequence_length": LENGTH,
        "rounds": 1,
        "wait_for_quiet": "off",
        **steps,
    }
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    begin_s = perf_counter()
    subprocess.run(
        [BIN / "benchtui", "run", "quick", "-o", session, *overrides], capture_output=True, check=True
    )
    wall_s = perf_counter() - begin_s
    return wall_s, {
        BATCHES[case]: statistics.median(times) for case, times in steps_of(session, "measure").items()
    }


def plain_times(python: Path, folder: Path) -> dict[int, float]:
    """Median steps of a plain loop in some environment, in milliseconds."""
    medians = {}
    for batch in BATCHES:
        command = loop_command(python, folder, batch, LENGTH, WARMUP + STEPS)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        medians[batch] = statistics.median(float(line) for line in done.stdout.splitlines()[-STEPS:])
    return medians


def steps_of(session: Path, phase: str) -> dict[int, list[float]]:
    """Step times of a phase by case, in milliseconds."""
    found: dict[int, list[float]] = {}
    for event in json.loads(session.read_text()):
        if event["event"] == "steps" and event["phase"] == phase:
            found.setdefault(event["case"], []).extend(event["wall_ms"])
    return found


def where_time_goes(session: Path, wall_s: float) -> dict[str, float]:
    """Seconds of our wall clock by what they were spent on."""
    events = json.loads(session.read_text())
    at = {event["event"]: event["t"] for event in events}
    cases: dict[int, dict[str, float]] = {}
    for event in events:
        if "case" in event:
            cases.setdefault(event["case"], {})[event["event"]] = event["t"]
    phases = {name: sum(map(sum, steps_of(session, name).values())) / 1000 for name in ("warmup", "measure")}
    load_s = sum(event["load_s"] for event in events if event["event"] == "case_prepared")
    prepared_s = sum(case["case_prepared"] - case["case_started"] for case in cases.values())
    ran_s = sum(case["case_finished"] - case["case_prepared"] for case in cases.values())
    table = {
        "warm-up": phases["warmup"],
        "measuring": phases["measure"],
        "start of command and engine, closing": wall_s - at["session_finished"],
        "import of torch and transformers, once": at["runtime"],
        "start of the cases' processes": prepared_s - load_s,
        "loading models": load_s,
        "diagnostic pass and teardown": ran_s - sum(phases.values()),
    }
    return table | {"between cases, peaks included": wall_s - sum(table.values())}


@click.command()
@click.option("--environment", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--pairs", default=1, show_default=True)
def main(environment: Path, pairs: int) -> None:
    """Print wall clocks and step times of both, pair by pair, and where ours goes."""
    python = environment.absolute() / "bin" / "python"
    with tempfile.TemporaryDirectory() as scratch:
        folder, session, script = (Path(scratch) / name for name in ("model", "session.json", "theirs.py"))
        script.write_text(THEIRS)
        source = bundled_models()[ARCHITECTURE]
        subprocess.run([sys.executable, "-c", SAVE, source, folder], capture_output=True, check=True)
        walls, own_walls, tables = [], [], []
        for pair in range(pairs):
            ours_s, ours = our_times(folder, session)
            tables.append(
                {name: spent_s / ours_s for name, spent_s in where_time_goes(session, ours_s).items()}
            )
            own_s, own = our_times(folder, session, OWN_RULES)
            plain, their_plain = plain_times(Path(sys.executable), folder), plain_times(python, folder)
            theirs_s, theirs = their_times(python, folder, script)
            walls.append(ours_s / theirs_s)
            own_walls.append(own_s / theirs_s)
            print(
                f"pair {pair + 1}/{pairs}  wall: benchtui {ours_s:.1f} s, optimum-benchmark {theirs_s:.1f} s",
                end="",
            )
            print(f", ratio {walls[-1]:.2f}; by its own rules {own_s:.1f} s, ratio {own_walls[-1]:.2f}")
            for batch in BATCHES:
                print(
                    f"  batch {batch}: steps over a plain loop's in the same environment:"
                    f" benchtui {ours[batch] / plain[batch]:.3f} ({ours[batch]:.1f} ms;"
                    f" by its own rules {own[batch]:.1f} ms),"
                    f" optimum-benchmark {theirs[batch] / their_plain[batch]:.3f} ({theirs[batch]:.1f} ms)",
                    flush=True,
                )
    print(
        f"wall clock, benchtui over optimum-benchmark: median {statistics.median(walls):.2f} of {pairs} pairs"
    )
    print(f"by its own rules: median {statistics.median(own_walls):.2f}")
    for name in tables[0]:
        print(f"  {100 * statistics.median(table[name] for table in tables):5.1f} %  {name}")


if __name__ == "__main__":
    main()

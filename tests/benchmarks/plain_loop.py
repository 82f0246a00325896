"""Step times under benchtui, with its screen attached, over those of a plain loop: `make bench`.

Both are run in turns, pair by pair, so that a machine whose speed drifts drifts for both; what counts is the
ratio of each pair's medians, and the median of those. The plain loop knows nothing of benchtui. Beside it: what
the screen and the engine (supervisor, samplers, journal) used of a processor while steps were measured.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import click
import pexpect
import psutil

BIN = Path(sys.executable).parent
ARCHITECTURE = "distilbert-base-uncased-finetuned-sst-2-english"
ENGINE = Path(__file__).parents[2] / "engine"

LOOP = """
import itertools, json, sys, time
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

folder, sample, batch, length, warmup, steps = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder)).eval()
tokenizer = AutoTokenizer.from_pretrained(folder)
texts = itertools.cycle([json.loads(line)["text"] for line in open(sample, encoding="utf-8")])
times = []
with torch.inference_mode():
    for _ in range(warmup + steps):
        texts_of_step = list(itertools.islice(texts, batch))
        begin = time.perf_counter()
        inputs = tokenizer(
            texts_of_step, truncation=True, padding="max_length", max_length=length, return_tensors="pt"
        )
        model(**inputs).logits.cpu()
        times.append((time.perf_counter() - begin) * 1000)
print(json.dumps(times[warmup:]))
"""


def plain_ms(batch: int, length: int, warmup: int, steps: int) -> list[float]:
    """Step times of the plain loop, in milliseconds."""
    numbers = [str(number) for number in (batch, length, warmup, steps)]
    folder, sample = str(ENGINE / "architectures" / ARCHITECTURE), str(ENGINE / "data" / "sample.jsonl")
    done = subprocess.run(
        [sys.executable, "-c", LOOP, folder, sample, *numbers], capture_output=True, text=True, check=True
    )
    return [float(time) for time in json.loads(done.stdout)]


@dataclass(frozen=True)
class Run:
    """A run under benchtui."""

    wall_ms: list[float]
    """Measured steps."""
    screen_percent: float
    engine_percent: float
    """Of one processor, while steps were measured."""


def benchtui_run(batch: int, length: int, warmup: int, steps: int) -> Run:
    """A run under benchtui with the app open in a terminal of 120x40."""
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session.json"
        settings = {
            "device": "cpu",
            "batch_size": batch,
            "sequence_length": length,
            "warmup": warmup,
            "iterations": steps,
        }
        overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        app = pexpect.spawn(
            str(BIN / "benchtui"), ["quick", "-o", str(session), *overrides], dimensions=(40, 120), timeout=600
        )
        drain = threading.Thread(target=app.expect, args=([pexpect.EOF],))
        drain.start()
        screen_percent = watch(psutil.Process(app.pid), session, drain)
        while drain.is_alive():  # until the app has seen the end, q asks and d answers
            app.send("qd")
            drain.join(1)
        return Run(measured_ms(session), screen_percent, engine_percent(session))


def watch(screen: psutil.Process, session: Path, drain: threading.Thread) -> float:
    """Wait for a session's end; gives what the screen used of a processor since the first measured step."""
    while not measuring(session):
        drain.join(0.1)
    began_s, used_s = monotonic(), sum(screen.cpu_times()[:2])
    while not finished(session):
        drain.join(0.1)
    return 100 * (sum(screen.cpu_times()[:2]) - used_s) / (monotonic() - began_s)


def measuring(session: Path) -> bool:
    return session.exists() and b'"phase":"measure"' in session.read_bytes()


def finished(session: Path) -> bool:
    return session.exists() and session.read_bytes().endswith(b"]\n")


def measured_ms(session: Path) -> list[float]:
    events = json.loads(session.read_text())
    return [time for event in events if event.get("phase") == "measure" for time in event["wall_ms"]]


def engine_percent(session: Path) -> float:
    """Mean of what the engine says that it used while steps were measured."""
    events = json.loads(session.read_text())
    begin_s, end_s = next(event["measured_s"] for event in events if event["event"] == "case_finished")
    samples = (
        sample
        for event in events
        if event["event"] == "telemetry"
        for sample in zip(event["at_s"], event["host"]["engine_cpu_percent"], strict=True)
    )
    return statistics.fmean(used for at_s, used in samples if begin_s <= at_s <= end_s and used is not None)


@click.command()
@click.option("--pairs", default=7, show_default=True)
@click.option("--steps", default=40, show_default=True)
@click.option("--batch", "batches", multiple=True, type=int, default=(1, 4, 8), show_default=True)
@click.option("--length", default=128, show_default=True)
def main(pairs: int, steps: int, batches: tuple[int, ...], length: int) -> None:
    """Print the ratio of median step times, benchtui over the plain loop, pair by pair."""
    for batch in batches:
        ratios, runs = [], []
        for pair in range(pairs):
            if pair % 2:
                runs.append(benchtui_run(batch, length, 5, steps))
            plain = statistics.median(plain_ms(batch, length, 5, steps))
            if not pair % 2:
                runs.append(benchtui_run(batch, length, 5, steps))
            ours = statistics.median(runs[-1].wall_ms)
            ratios.append(ours / plain)
            print(
                f"batch {batch:3}  pair {pair + 1}/{pairs}  benchtui {ours:8.2f} ms"
                f"  plain {plain:8.2f} ms  ratio {ratios[-1]:.3f}",
                flush=True,
            )
        print(
            f"batch {batch:3}  ratio of medians: median {statistics.median(ratios):.3f},"
            f" least {min(ratios):.3f}, most {max(ratios):.3f}, {pairs} pairs; of a processor: screen"
            f" {statistics.median(run.screen_percent for run in runs):.1f} %, engine"
            f" {statistics.median(run.engine_percent for run in runs):.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()

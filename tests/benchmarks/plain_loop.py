"""Step times under benchtui, with its screen attached, over those of a plain loop: `make bench`.

Both are run in turns, pair by pair, so that a machine whose speed drifts drifts for both; what counts is the
ratio of each pair's medians, and the median of those. The plain loop knows nothing of benchtui.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import click
import pexpect

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


def benchtui_ms(batch: int, length: int, warmup: int, steps: int) -> list[float]:
    """Step times under benchtui with the app open in a terminal of 120x40, in milliseconds."""
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
        while not finished(session):
            drain.join(0.5)
        while drain.is_alive():  # until the app has seen the end, q asks and d answers
            app.send("qd")
            drain.join(1)
        return measured_ms(session)


def finished(session: Path) -> bool:
    return session.exists() and session.read_bytes().endswith(b"]\n")


def measured_ms(session: Path) -> list[float]:
    events = json.loads(session.read_text())
    return [time for event in events if event.get("phase") == "measure" for time in event["wall_ms"]]


@click.command()
@click.option("--pairs", default=7, show_default=True)
@click.option("--steps", default=40, show_default=True)
@click.option("--batch", "batches", multiple=True, type=int, default=(1, 4), show_default=True)
@click.option("--length", default=128, show_default=True)
def main(pairs: int, steps: int, batches: tuple[int, ...], length: int) -> None:
    """Print the ratio of median step times, benchtui over the plain loop, pair by pair."""
    for batch in batches:
        ratios = []
        for pair in range(pairs):
            runs = [benchtui_ms, plain_ms] if pair % 2 else [plain_ms, benchtui_ms]
            medians = {run: statistics.median(run(batch, length, 5, steps)) for run in runs}
            ratios.append(medians[benchtui_ms] / medians[plain_ms])
            print(
                f"batch {batch:3}  pair {pair + 1}/{pairs}  benchtui {medians[benchtui_ms]:8.2f} ms"
                f"  plain {medians[plain_ms]:8.2f} ms  ratio {ratios[-1]:.3f}",
                flush=True,
            )
        print(
            f"batch {batch:3}  ratio of medians: median {statistics.median(ratios):.3f},"
            f" least {min(ratios):.3f}, most {max(ratios):.3f}, {pairs} pairs"
        )


if __name__ == "__main__":
    main()

"""Step times under benchtui, with its screen attached, over those of a plain loop: `make bench`.

Both run in turns of two seconds (``turns``). The plain loop knows nothing of benchtui. Beside it: what screen
and engine (supervisor, samplers, journal) used of a processor while they ran.
"""

import json
import sys
import tempfile
import threading
from pathlib import Path

import click
import pexpect
from turns import PlainLoop, alternate_with_sweep, print_ratios, ratio

from benchtui.sessions.stored_models.hub_cache import bundled_models

BIN = Path(sys.executable).parent
ARCHITECTURE = "distilbert-base-uncased-finetuned-sst-2-english"
ENGINE = Path(__file__).parents[3] / "engine"

LOOP = """
import itertools, json, sys, time
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

folder, sample, batch, length, steps = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder)).eval()
tokenizer = AutoTokenizer.from_pretrained(folder)
texts = itertools.cycle([json.loads(line)["text"] for line in open(sample, encoding="utf-8")])
print("ready", flush=True)
with torch.inference_mode():
    for _ in range(steps or sys.maxsize):
        texts_of_step = list(itertools.islice(texts, batch))
        begin = time.perf_counter()
        inputs = tokenizer(
            texts_of_step, truncation=True, padding="max_length", max_length=length, return_tensors="pt"
        )
        model(**inputs).logits.cpu()
        print((time.perf_counter() - begin) * 1000, flush=True)
"""
WARMUP = 5


def loop_command(python: Path | str, folder: Path, batch: int, length: int, steps: int) -> list[str]:
    """The plain loop on a folder with a configuration; with 0 steps it goes on for ever."""
    numbers = [str(number) for number in (batch, length, steps)]
    sample = ENGINE / "workloads" / "inputs" / "data" / "sample.jsonl"
    return [str(python), "-c", LOOP, str(folder), str(sample), *numbers]


def run(batch: int, length: int, steps: int) -> tuple[float, str]:
    """A run under benchtui, with the app open in a terminal of 120x40, against the plain loop."""
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session.json"
        plain = PlainLoop(
            loop_command(sys.executable, bundled_models()[ARCHITECTURE], batch, length, 0),
            Path(folder) / "plain.txt",
        )
        settings = {
            "device": "cpu",
            "batch_size": batch,
            "sequence_length": length,
            "warmup": WARMUP,
            "iterations": steps,
            "wait_for_quiet": "off",
        }
        overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        app = pexpect.spawn(
            str(BIN / "benchtui"), ["quick", "-o", str(session), *overrides], dimensions=(40, 120), timeout=600
        )
        drain = threading.Thread(target=app.expect, args=([pexpect.EOF],))
        drain.start()
        used = alternate_with_sweep(session, app.pid, plain)
        while drain.is_alive():  # until the app has seen the end, q asks and d answers
            app.send("qd")
            drain.join(1)
        found, words = ratio(measured_ms(session), plain.end(WARMUP))
    return found, f"{words}  of a processor: screen {used.screen:.1f} %, engine {used.engine:.1f} %"


def measured_ms(session: Path) -> list[float]:
    """Every measured step of a session file."""
    events = json.loads(session.read_text())
    return [time for event in events if event.get("phase") == "measure" for time in event["wall_ms"]]


@click.command()
@click.option("--runs", default=3, show_default=True)
@click.option("--steps", default=400, show_default=True, help="At batch size 1; of larger batches fewer.")
@click.option("--batch", "batches", multiple=True, type=int, default=(1, 4, 8), show_default=True)
@click.option("--length", default=128, show_default=True)
def main(runs: int, steps: int, batches: tuple[int, ...], length: int) -> None:
    """Print the ratio of median step times, benchtui over the plain loop, run by run."""
    for batch in batches:
        print_ratios(f"batch {batch:3}", runs, lambda batch=batch: run(batch, length, steps // batch))


if __name__ == "__main__":
    main()

"""What compiling costs by benchtui's account over the same by hand: `python tests/benchmarks/cold_cost.py`.

By hand: a plain script in a fresh process with empty caches takes the time of its first call of a compiled
model, and takes off a steady one. Both are run in turns, pair by pair, each with one shape and then with
another, which is recompiled; what counts is the ratio of each pair. The plain script knows no benchtui.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics

BIN = Path(sys.executable).parent
ENGINE = Path(__file__).parents[2] / "engine"
ARCHITECTURE = ENGINE / "models" / "architectures" / "distilbert-base-uncased-finetuned-sst-2-english"
SMALL = {"dim": 256, "hidden_dim": 1024, "n_heads": 4, "n_layers": 2}
STEPS = 10

SCRIPT = """
import itertools, json, statistics, sys, time
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

folder, sample, batch, length, steps = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder)).eval()
tokenizer = AutoTokenizer.from_pretrained(folder)
texts = itertools.cycle([json.loads(line)["text"] for line in open(sample, encoding="utf-8")])
compiled = torch.compile(model)
times = []
with torch.inference_mode():
    for _ in range(1 + steps):
        texts_of_step = list(itertools.islice(texts, batch))
        begin = time.perf_counter()
        inputs = tokenizer(
            texts_of_step, truncation=True, padding="max_length", max_length=length, return_tensors="pt"
        )
        compiled(**inputs).logits.cpu()
        times.append((time.perf_counter() - begin) * 1000)
print(times[0] - statistics.median(times[1:]))
"""

Shape = tuple[int, int]
"""Batch size and sequence length."""


def model_folder(folder: Path, full: bool) -> Path:
    """The architecture of DistilBERT in a folder, small unless the full one is wanted."""
    model = folder / "model"
    shutil.copytree(ARCHITECTURE, model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config if full else config | SMALL))
    return model


def plain_ms(model: Path, shape: Shape) -> float:
    """Cold cost in a plain script, in milliseconds."""
    with tempfile.TemporaryDirectory() as caches:
        arguments = (model, ENGINE / "workloads" / "inputs" / "data" / "sample.jsonl", *shape, STEPS)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": caches, "TRITON_CACHE_DIR": caches},
        )
    return float(done.stdout)


def benchtui_ms(model: Path, shape: Shape) -> float:
    """Cold cost as benchtui reports it, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        sweep, session = Path(folder) / "sweep.toml", Path(folder) / "session.json"
        sweep.write_text(
            f'model = "{model}"\nweights = "random"\n'
            f'[axes]\ncompile = "default"\nbatch_size = {shape[0]}\nsequence_length = {shape[1]}\n'
            f"[measure]\nwarmup = 1\niterations = {STEPS}\npeaks = false\n"
        )
        command = [str(BIN / "benchtui"), "run", str(sweep), "-o", str(session)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        found = metrics(Session.load(session).cases[0])
    if found is None or found.cold_cost_ms is None:
        raise click.ClickException("benchtui reports no cold cost")
    return found.cold_cost_ms


@click.command()
@click.option("--pairs", default=5, show_default=True)
@click.option("--full", is_flag=True, help="DistilBERT as it is, in place of one of two narrow layers.")
def main(pairs: int, full: bool) -> None:
    """Print the cold cost of compiling, benchtui's over that by hand, pair by pair."""
    shapes: tuple[Shape, ...] = ((4, 64), (2, 96))
    ratios: dict[Shape, list[float]] = {shape: [] for shape in shapes}
    with tempfile.TemporaryDirectory() as folder:
        model = model_folder(Path(folder), full)
        for pair in range(pairs):
            runs: list[Callable[[Path, Shape], float]] = [plain_ms, benchtui_ms]
            for shape in shapes:
                cost_ms = {run: run(model, shape) for run in (reversed(runs) if pair % 2 else runs)}
                ratios[shape].append(cost_ms[benchtui_ms] / cost_ms[plain_ms])
                print(
                    f"batch {shape[0]} length {shape[1]:3}  pair {pair + 1}/{pairs}"
                    f"  benchtui {cost_ms[benchtui_ms]:9.1f} ms  by hand {cost_ms[plain_ms]:9.1f} ms"
                    f"  ratio {ratios[shape][-1]:.3f}",
                    flush=True,
                )
    for shape, found in ratios.items():
        print(
            f"batch {shape[0]} length {shape[1]:3}  ratio: median {statistics.median(found):.3f},"
            f" least {min(found):.3f}, most {max(found):.3f}, {pairs} pairs"
        )


if __name__ == "__main__":
    main()

"""What compiling costs by benchtui's account over the same by hand: `make bench ONLY=cold_cost`.

By hand: a plain script in a fresh process with empty caches adds up the time of the calls of a compiled model
in which torch compiled, beyond a steady one. Both are run in turns, pair by pair, with fixed lengths, compiled
once, and with the lengths of the texts, for which torch compiles a second time. What counts is the ratio of
each pair. The plain script knows no benchtui.
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
from typing import NamedTuple

import click

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stored_models.hub_cache import bundled_models

BIN = Path(sys.executable).parent
ENGINE = Path(__file__).parents[3] / "engine"
ARCHITECTURE = bundled_models()["distilbert-base-uncased-finetuned-sst-2-english"]
SMALL = {"dim": 256, "hidden_dim": 1024, "n_heads": 4, "n_layers": 2}
STEPS = 10

SCRIPT = """
import itertools, json, statistics, sys, time
import torch
from torch._dynamo.utils import counters
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

folder, sample, padding = sys.argv[1:4]
batch, length, warmup, steps = map(int, sys.argv[4:])
model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder)).eval()
tokenizer = AutoTokenizer.from_pretrained(folder)
texts = itertools.cycle([json.loads(line)["text"] for line in open(sample, encoding="utf-8")])
compiled = torch.compile(model)
times, cold = [], []
with torch.inference_mode():
    for step in range(warmup + steps):
        graphs = counters["stats"]["unique_graphs"]
        texts_of_step = list(itertools.islice(texts, batch))
        begin = time.perf_counter()
        inputs = tokenizer(
            texts_of_step, truncation=True, padding=padding, max_length=length, return_tensors="pt"
        )
        compiled(**inputs).logits.cpu()
        times.append((time.perf_counter() - begin) * 1000)
        if counters["stats"]["unique_graphs"] != graphs:
            cold.append(times[-1])
steady = statistics.median(times[warmup:])
print(len(cold), sum(time - steady for time in cold))
"""


class Shape(NamedTuple):
    """Sizes of the batches."""

    batch: int
    length: int
    padding: str
    """As in a sweep."""
    compiled: int
    """How often torch compiles."""
    warmup: int

    def __str__(self) -> str:
        return f"batch {self.batch} length {self.length:3} padding {self.padding:7} compiled {self.compiled}x"


SHAPES = (Shape(4, 64, "max", 1, 1), Shape(2, 96, "max", 1, 1), Shape(2, 512, "longest", 2, 4))


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
        padding = "max_length" if shape.padding == "max" else shape.padding
        sample = ENGINE / "workloads" / "inputs" / "data" / "sample.jsonl"
        arguments = (model, sample, padding, shape.batch, shape.length, shape.warmup, STEPS)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": caches, "TRITON_CACHE_DIR": caches},
        )
    compiled, cost_ms = done.stdout.split()
    if int(compiled) != shape.compiled:
        raise click.ClickException(f"compiled {compiled} times by hand, not {shape.compiled}")
    return float(cost_ms)


def benchtui_ms(model: Path, shape: Shape) -> float:
    """Cold cost as benchtui reports it, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        sweep, session = Path(folder) / "sweep.toml", Path(folder) / "session.json"
        sweep.write_text(
            f'model = "{model}"\nweights = "random"\n'
            f'[axes]\ncompile = "default"\nbatch_size = {shape.batch}\nsequence_length = {shape.length}\n'
            f'padding = "{shape.padding}"\n'
            "[run]\nwait_for_quiet = 'off'\n"
            f"[measure]\nwarmup = {shape.warmup}\niterations = {STEPS}\npeaks = false\n"
        )
        command = [str(BIN / "benchtui"), "run", str(sweep), "-o", str(session)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        case = Session.load(session).cases[0]
        compiling, found = case.ends[0].compiling, metrics(case)
    if compiling is None or len(compiling.cold) != shape.compiled:
        raise click.ClickException(f"not compiled in {shape.compiled} warm-up steps: {compiling}")
    if found is None or found.cold_cost_ms is None:
        raise click.ClickException("benchtui reports no cold cost")
    return found.cold_cost_ms


@click.command()
@click.option("--pairs", default=5, show_default=True)
@click.option("--full", is_flag=True, help="DistilBERT as it is, in place of one of two narrow layers.")
def main(pairs: int, full: bool) -> None:
    """Print the cold cost of compiling, benchtui's over that by hand, pair by pair."""
    ratios: dict[Shape, list[float]] = {shape: [] for shape in SHAPES}
    with tempfile.TemporaryDirectory() as folder:
        model = model_folder(Path(folder), full)
        for pair in range(pairs):
            runs: list[Callable[[Path, Shape], float]] = [plain_ms, benchtui_ms]
            for shape in SHAPES:
                cost_ms = {run: run(model, shape) for run in (reversed(runs) if pair % 2 else runs)}
                ratios[shape].append(cost_ms[benchtui_ms] / cost_ms[plain_ms])
                print(
                    f"{shape}  pair {pair + 1}/{pairs}"
                    f"  benchtui {cost_ms[benchtui_ms]:9.1f} ms  by hand {cost_ms[plain_ms]:9.1f} ms"
                    f"  ratio {ratios[shape][-1]:.3f}",
                    flush=True,
                )
    for shape, found in ratios.items():
        print(
            f"{shape}  ratio: median {statistics.median(found):.3f},"
            f" least {min(found):.3f}, most {max(found):.3f}, {pairs} pairs"
        )


if __name__ == "__main__":
    main()

"""Training under benchtui over a plain loop of the same model: `make bench`.

First steps in one process and on one network, in turns: of the plain loop, of the timed loop, of the plain loop
again. Their throughput tells what benchtui adds to a step. Then whole runs in turns of two seconds
(``turns``), and after them the plain loop against itself: how far two processes of one program are apart on
this machine. All compute with one thread: threads that wait for one another would measure whoever else is on
the machine.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import perf_counter

import click
import msgspec
import torch
from plain_loop import BIN, WARMUP, measured_ms
from turns import PlainLoop, alternate, alternate_with_sweep, print_ratios, ratio

from benchtui.engine.devices.cpu import Cpu
from benchtui.engine.worker.timed_loop import Recorder
from benchtui.engine.workloads.lm_train import LmTrain
from benchtui.sessions.stats.distribution import distribution
from benchtui.sessions.stored_models.hub_cache import bundled_models
from benchtui.sessions.sweep import Config, Sweep

TURNS = 10
"""Of each of two plain loops."""

LOOP = """
import sys, time
import torch
from transformers import AutoConfig, AutoModelForCausalLM

torch.set_num_threads(1)
folder, batch, length = sys.argv[1], *map(int, sys.argv[2:])
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
rows = torch.randint(model.config.vocab_size, (256, length))
mask = torch.ones(batch, length, dtype=torch.long)
print("ready", flush=True)
for step in range(sys.maxsize):
    begin = time.perf_counter()
    ids = rows[torch.arange(step * batch, (step + 1) * batch) % len(rows)]
    loss = model(input_ids=ids, attention_mask=mask, labels=ids, use_cache=False).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print((time.perf_counter() - begin) * 1000, flush=True)
"""


def make_model(folder: Path, layers: int, vocabulary: int) -> None:
    """GPT-2 with fewer layers and a smaller vocabulary, as a folder that holds no weights."""
    config = json.loads((bundled_models()["gpt2"] / "config.json").read_text())
    config |= {"n_layer": layers, "vocab_size": vocabulary, "bos_token_id": 0, "eos_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config))


class Trained(LmTrain):
    """The engine's own training, and a plain loop on its network and optimizer."""

    def plain_steps(self) -> Iterator[float]:
        """Seconds of each step of the plain loop."""
        model, optimizer = self._network, self._optimizer
        batch, length = self._config.batch_size, self._config.sequence_length
        rows = torch.randint(model.config.vocab_size, (256, length))
        mask = torch.ones(batch, length, dtype=torch.long)
        for step in count():
            begin_s = perf_counter()
            ids = rows[torch.arange(step * batch, (step + 1) * batch) % len(rows)]
            loss = model(input_ids=ids, attention_mask=mask, labels=ids, use_cache=False).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            yield perf_counter() - begin_s

    def measured_steps(self) -> Iterator[float]:
        """Seconds of each step as the engine runs it, with all that it does for it, its events written down."""
        device, encoder = Cpu(), msgspec.json.Encoder()
        with open(os.devnull, "wb") as events:
            record = Recorder(0, "measure", lambda event: events.write(encoder.encode(event)), perf_counter)
            while True:
                begin_s = perf_counter()
                time, done = device.time(self.step)
                record.add(time, self.count(done))
                yield perf_counter() - begin_s


def in_one_process(model: Path, batch: int, length: int, turns: int) -> None:
    """Print the throughput of the timed loop over the plain one's, and of the plain one over itself."""
    torch.set_num_threads(1)
    sweep = Sweep(name="train", model=str(model), weights="random", task="lm-train", dataset="synthetic")
    task = Trained(sweep, Config(device="cpu", batch_size=batch, sequence_length=length), Cpu())
    plain, measured = task.plain_steps(), task.measured_steps()
    rows = [(next(plain), next(measured), next(plain)) for _ in range(WARMUP + turns)][WARMUP:]
    found = {
        "benchtui": [(before + after) / 2 / ours for before, ours, after in rows],
        "plain, later": [before / after for before, _, after in rows],
    }
    for name, ratios in found.items():
        spread = distribution(ratios)
        low, high = (spread.low or min(ratios), spread.high or max(ratios)) if spread else (0.0, 0.0)
        print(
            f"one process  throughput of {name}, over plain: median {statistics.median(ratios):.4f},"
            f" 95% interval {low:.4f} to {high:.4f}, {len(ratios)} steps",
            flush=True,
        )


def plain_loop(model: Path, batch: int, length: int, name: str) -> PlainLoop:
    """The plain loop in a process of its own."""
    return PlainLoop([sys.executable, "-c", LOOP, str(model), str(batch), str(length)], model / name)


def run(model: Path, batch: int, length: int, steps: int) -> tuple[float, str]:
    """A run under benchtui, without a screen, against the plain loop."""
    session = model / "session.json"
    session.unlink(missing_ok=True)
    plain = plain_loop(model, batch, length, "plain.txt")
    settings = {"model": model, "device": "cpu", "precision": "fp32", "compile": "off", "threads": 1}
    settings |= {"batch_size": batch, "sequence_length": length, "warmup": WARMUP, "iterations": steps}
    settings |= {"wait_for_quiet": "off"}
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [str(BIN / "benchtui"), "run", "gpt2-train", "-o", str(session), *overrides]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        alternate_with_sweep(session, None, plain)
    return ratio(measured_ms(session), plain.end(WARMUP))


def run_control(model: Path, batch: int, length: int) -> tuple[float, str]:
    """The plain loop against itself."""
    loops = [plain_loop(model, batch, length, f"{name}.txt") for name in ("one", "other")]
    alternate(*loops, turns=TURNS)
    return ratio(*(loop.end(WARMUP) for loop in loops), names=("plain", "plain"))


@click.command()
@click.option("--turns", default=400, show_default=True, help="Steps of each kind in one process.")
@click.option("--runs", default=3, show_default=True)
@click.option("--steps", default=200, show_default=True)
@click.option("--batch", default=1, show_default=True)
@click.option("--length", default=32, show_default=True)
@click.option("--layers", default=1, show_default=True)
@click.option("--vocabulary", default=1024, show_default=True)
def main(turns: int, runs: int, steps: int, batch: int, length: int, layers: int, vocabulary: int) -> None:
    """Print how fast training is under benchtui, next to a plain loop."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder)
        make_model(model, layers, vocabulary)
        in_one_process(model, batch, length, turns)
        print_ratios("whole runs", runs, lambda: run(model, batch, length, steps))
        print_ratios("plain loop twice", runs, lambda: run_control(model, batch, length))


if __name__ == "__main__":
    main()

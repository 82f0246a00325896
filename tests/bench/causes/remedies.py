"""Predicted against measured gains: ``python tests/bench/causes/remedies.py [SETUP]``.

Each setup is a case with a known cause whose remedy is an option. It is measured, explained with ``--try``, and
gets a row per remedy: the bound of the gain, the predicted gain if there is one, the gain with its interval,
whether it stays within the bound, but for its interval, and whether it is within 1.3 times of the prediction.
``--list`` prints the names of the setups, ``--part 1/3`` runs the first third, ``--neighbor`` keeps one
processor busy meanwhile. ``--sessions FOLDER`` keeps the sessions; those that exist are predicted again by
today's rules.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from math import inf
from pathlib import Path
from typing import Any

import torch
from run import neighbor, part_of
from torch.utils.data import DataLoader, Dataset

BENCHTUI = str(Path(sys.executable).with_name("benchtui"))
RULES = """
[run]
wait_for_quiet = 'off'
[measure]
warmup = {warmup}
iterations = {steps}
answers = false
explain = true
"""
BUNDLED = Path(__file__).parents[3] / "sessions" / "stored_models" / "architectures"
SMALL = "distilbert-base-uncased-finetuned-sst-2-english"
GPT = {"model_type": "gpt2", "n_layer": 3, "n_embd": 384, "n_head": 6, "n_positions": 512, "vocab_size": 50257}
MODELS = {
    "GPT": GPT,
    "THIN": GPT | {"n_layer": 4, "n_embd": 64, "n_head": 2, "n_inner": 1024, "vocab_size": 512},
    "DEEP": GPT | {"n_layer": 5, "vocab_size": 2048},
    "SHALLOW": json.loads((BUNDLED / SMALL / "config.json").read_text())
    | {"n_layers": 1, "dim": 96, "n_heads": 2},
}
"""Configurations of small models, by the name that sweeps have for their folders."""
NEAR = 1.3
"""Largest factor between predicted and measured gain of a good prediction."""


def _sweep(task: str, axes: str, model: str = "GPT", dataset: str = "synthetic") -> str:
    head = f"model = '{model}'\nweights = 'random'\ntask = '{task}'\ndataset = '{dataset}'\n"
    return f"{head}[axes]\n{axes}\n{RULES.format(warmup=2, steps=8)}"


def _own(axes: str) -> str:
    """Return the sweep of a step of this file, which warms up until no batch that was loaded before is left."""
    return f"task = '{Path(__file__).resolve()}:make'\n[axes]\n{axes}\n{RULES.format(warmup=12, steps=40)}"


SETUPS: dict[str, tuple[str, str]] = {
    "forward on one thread": ("few threads", _sweep("lm-forward", "batch_size = 2\nthreads = 1")),
    "training on one thread": ("few threads", _sweep("lm-train", "sequence_length = 32\nthreads = 1")),
    "generation on one thread": (
        "few threads",
        _sweep("generate", "sequence_length = 32\nnew_tokens = 8\nthreads = 1"),
    ),
    "classification on one thread": (
        "few threads",
        _sweep("classify", "sequence_length = 32\nthreads = 1", SMALL),
    ),
    "products on one thread": ("few threads", _own("parameters = {plant = ['products']}\nthreads = 1")),
    "eight threads": ("too many threads", _sweep("lm-forward", "batch_size = 2\nthreads = 8")),
    "products on six threads": ("too many threads", _own("parameters = {plant = ['products']}\nthreads = 6")),
    "logits mapped again": ("page faults", _sweep("lm-forward", "batch_size = 4")),
    "training mapped again": ("page faults", _sweep("lm-train", "sequence_length = 32")),
    "tensors mapped again": ("page faults", _own("parameters = {plant = ['fresh']}\nthreads = 2")),
    "convolution mapped again": ("page faults", _own("parameters = {plant = ['convolution']}\nthreads = 2")),
    "elementwise": ("unfused", _sweep("lm-forward", "sequence_length = 384", "THIN")),
    "eager attention": (
        "unfused attention",
        _sweep("embed", "sequence_length = 512\nattention = 'eager'", SMALL),
    ),
    "plain optimizer": ("optimizer", _sweep("lm-train", "sequence_length = 16\noptimizer = 'adamw'")),
    "checkpointing": (
        "recomputing",
        _sweep("lm-train", "sequence_length = 256\nactivation_checkpointing = 'on'", "DEEP"),
    ),
    "loader without workers": ("input", _own("parameters = {plant = ['loader'], num_workers = [0]}")),
    "loader with one worker": ("input", _own("parameters = {plant = ['loader'], num_workers = [1]}")),
    "slow disk without workers": ("input", _own("parameters = {plant = ['disk'], num_workers = [0]}")),
    "slow disk with two workers": ("input", _own("parameters = {plant = ['disk'], num_workers = [2]}")),
    "tokenizer on one thread": (
        "tokenizer",
        _sweep("embed", "batch_size = 64\nsequence_length = 16\ntokenizer_threads = 1", "SHALLOW", "sample"),
    ),
}
"""Rule that names the remedy, and sweep, by name of the setup."""


class Slow(Dataset[torch.Tensor]):
    """Samples that take a few ms of a worker's time each."""

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        values = torch.full((64,), float(index))
        for _ in range(1500):
            values = values.sin()
        return values


class Disk(Slow):
    """Samples that a worker waits for."""

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.005)
        return torch.full((64,), float(index))


class Step:
    """A step of the user's with one cause."""

    samples = 1

    def __init__(self, case: Any) -> None:
        self._square = torch.randn(384, 384)
        self._images, self._filters = torch.randn(8, 32, 48, 48), torch.randn(64, 32, 3, 3)
        self.step = getattr(self, f"_{case.parameters['plant']}")
        workers = int(case.parameters.get("num_workers", 0))
        samples = Disk() if case.parameters["plant"] == "disk" else Slow()
        self._rows = iter(DataLoader(samples, batch_size=4, num_workers=workers))

    def _products(self) -> None:
        for _ in range(8):
            self._square @ self._square

    def _fresh(self) -> None:
        self._products()
        torch.zeros(12_000_000).add_(1)

    def _convolution(self) -> None:
        torch.nn.functional.conv2d(self._images, self._filters, padding=1)

    def _loader(self) -> None:
        next(self._rows)
        self._products()

    _disk = _loader


def make(case: Any) -> Step:
    """Prepare the step that the case names."""
    return Step(case)


def main() -> int:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the names of the setups")
    parser.add_argument("--neighbor", action="store_true", help="keep one processor busy meanwhile")
    parser.add_argument("--part", default="1/1", help="part of the setups, such as 2/3")
    parser.add_argument("--sessions", type=Path, help="folder of the sessions, to keep or to predict again")
    parser.add_argument("setups", nargs="*")
    arguments = parser.parse_args()
    if arguments.list:
        print(*SETUPS, sep="\n")
        return 0
    names = part_of(arguments.setups or list(SETUPS), arguments.part)
    with neighbor(wanted=arguments.neighbor), tempfile.TemporaryDirectory() as folder:
        rows = [row for name in names for row in _rows(name, arguments.sessions or Path(folder))]
    print(f"{sum(row['within'] for row in rows)} of {len(rows)} gains within their bound,", end=" ")
    predicted = [row for row in rows if row["predicted"]]
    print(f"{sum(row['near'] for row in predicted)} of {len(predicted)} within {NEAR} times of the prediction")
    return int(not all(row["within"] for row in rows))


def _rows(name: str, folder: Path) -> list[dict[str, Any]]:
    """Measure, explain and try one setup, unless its session exists. Print its rows."""
    rule, sweep = SETUPS[name]
    session = folder.resolve() / f"{name.replace(' ', '-')}.json"
    if session.exists():
        shown = _run("explain", session, "1", "--json")
    else:
        with tempfile.TemporaryDirectory() as models:
            for model, sizes in MODELS.items():
                shutil.copytree(BUNDLED / SMALL, Path(models, model))
                Path(models, model, "config.json").write_text(json.dumps(sizes))
                sweep = sweep.replace(f"'{model}'", f"'{Path(models, model)}'")
            file = Path(models, "sweep.toml")
            file.write_text(sweep)
            _run("run", file, "-o", session, "--trust")
            shown = _run("explain", session, "1", "--try", "--rule", rule, "--trust", "--json")
    if not shown:
        print(f"{name:<30} no finding {rule!r} with a remedy", flush=True)
        return []
    (case,) = json.loads(shown)["cases"]
    tried = [trial for trial in case["trials"] if trial["rule"] == rule and trial["measured"]]
    return [_row(name, trial) for trial in tried]


def _run(*words: object) -> str:
    done = subprocess.run(
        [BENCHTUI, *map(str, words)], capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    if done.returncode not in (0, 1) or not done.stdout:
        print(*done.stderr.strip().splitlines()[-1:], flush=True)
    return done.stdout if done.returncode in (0, 1) else ""


def _row(name: str, trial: dict[str, Any]) -> dict[str, Any]:
    bound, predicted, gain = trial["bound"], trial["predicted"], trial["measured"]
    low = gain if trial["low"] is None else trial["low"]
    high = trial["high"] or inf
    within = bound is not None and low <= bound
    near = predicted is not None and max(predicted / gain, gain / predicted) <= NEAR
    options = " ".join(f"{option}={value}" for option, value in trial["options"].items())
    print(
        f"{name:<28} {options[:30]:<30} at most {bound or 0:6.2f}x, predicted {predicted or 0:6.2f}x, measured"
        f" {gain:6.2f}x ({low:.2f} to {high:.2f}) {trial['verdict']:<7}{'' if within else ' BEYOND'}"
        f"{'' if near else ' far' if predicted else ' bound alone'}",
        flush=True,
    )
    return {"within": within, "predicted": predicted, "near": near}


if __name__ == "__main__":
    sys.exit(main())

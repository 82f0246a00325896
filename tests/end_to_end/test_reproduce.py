"""``benchtui reproduce`` names what changed since a session: in its record, its files, or the environment."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
MEASURE = '[run]\nwait_for_quiet = "off"\n[measure]\nwarmup = 1\niterations = 10\nrounds = 1\npeaks = false\n'
STEP = """import part

class Step:
    samples = 1

    def step(self):
        return part.work()

def make(case):
    return Step()
"""
GPU = {"index": 0, "name": "NVIDIA H100", "uuid": "GPU-1", "memory_mb": 80_000.0, "power_limit_w": 500.0}
RECORDED: dict[str, tuple[str, str, object]] = {
    "PyTorch: 1.9.9 → ": ("runtime", "torch", "1.9.9"),
    "Transformers: 4.1.0 → ": ("runtime", "transformers", "4.1.0"),
    "GPU driver: 570.10 → none": ("session_started", "host.driver", "570.10"),
    "GPU 0: NVIDIA H100, 74.5 GiB, power limit 500 W → none": ("session_started", "host.gpus", [GPU]),
    "Governor: schedutil → ": ("session_started", "host.governor", "schedutil"),
    "Host: node7 → ": ("session_started", "host.hostname", "node7"),
    "processor clock: 99 MHz → ": ("case_finished", "environment.processor_mhz", 99.0),
    "env ONEDNN_DEFAULT_FPMATH_MODE: BF16 → none": (
        "session_started",
        "host.environment",
        {"ONEDNN_DEFAULT_FPMATH_MODE": "BF16"},
    ),
}
"""Lines by what is planted in the record: event, path and value."""
FILES = ("weights of ./model", "config.json of ./model", "dataset")
"""Files of the model and the texts that are changed."""
WORLD = ("CPU affinity", "actual threads", "env MALLOC_ARENA_MAX")
"""What a narrower affinity and a variable of the allocator change."""


@pytest.fixture
def run(home: Path, command: str) -> Run:
    def in_folder(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *arguments], cwd=home, capture_output=True, text=True, timeout=120, **options
        )

    return in_folder


def plant(path: Path) -> None:
    """Write other values into the record of a session."""
    events = json.loads(path.read_text())
    for event, place, value in RECORDED.values():
        *tables, name = place.split(".")
        for record in [each for each in events if each["event"] == event]:
            for table in tables:
                record = record[table]
            record[name] = value
    lines = ",\n".join(map(json.dumps, events))
    path.write_text(f"[\n{lines}\n]\n")


def change(path: Path, before: bytes, after: bytes) -> None:
    content = path.read_bytes()
    assert before in content
    path.write_bytes(content.replace(before, after))


def test_each_planted_difference_is_named(home: Path, run: Run, trained_model: Path) -> None:
    if len(cpus := os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    model = shutil.copytree(trained_model, home / "model")
    (home / "texts.txt").write_text("a first line of text\nand a second one\n")
    head = 'model = "./model"\ntask = "lm-forward"\nweights = "pretrained"\ndataset = "./texts.txt"\n'
    (home / "s.toml").write_text(f"{head}[axes]\nsequence_length = 8\n{MEASURE}")
    recorded = run("run", "s.toml", "-o", "base.json")
    assert recorded.returncode == 0, recorded.stderr
    plant(home / "base.json")
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    change(model / "config.json", b'"gelu_new"', b'"relu"')
    change(home / "texts.txt", b"second", b"third")
    again = run(
        *("reproduce", "./base.json", "-o", "again.json"),
        env=os.environ | {"MALLOC_ARENA_MAX": "1"},
        preexec_fn=lambda: os.sched_setaffinity(0, {min(cpus)}),
    )
    assert again.returncode == 1, again.stderr
    first, *others = again.stdout.splitlines()
    assert first.startswith("NOT REPRODUCED: 1 case, ")
    for named in (*RECORDED, *WORLD, *FILES):
        kind = "measured something else" if named in FILES else "differs"
        assert [line for line in others if line.startswith(f"  {kind}: {named}")], (named, again.stdout)
        assert named.partition(":")[0] in first


def test_a_changed_part_of_a_step_is_named(home: Path, run: Run) -> None:
    (home / "step.py").write_text(STEP)
    (home / "part.py").write_text("def work():\n    return sum(range(1000))\n")
    (home / "s.toml").write_text(f'task = "step.py:make"\n{MEASURE}')
    assert run("run", "s.toml", "--trust", "-o", "base.json").returncode == 0
    change(home / "part.py", b"1000", b"2000")
    again = run("reproduce", "./base.json", "--trust", "-o", "again.json")
    assert again.returncode == 1, again.stderr
    assert again.stdout.startswith("NOT REPRODUCED: 1 case, ")
    assert "  measured something else: part.py: " in again.stdout
    (home / "part.py").unlink()
    lost = run("reproduce", "./base.json", "--trust", "-o", "lost.json")
    assert lost.returncode == 1, lost.stderr
    (named,) = [line for line in lost.stdout.splitlines() if "not measured this time: " in line]
    assert named.endswith(": failed: step.py:1: ModuleNotFoundError: No module named 'part'")


@pytest.mark.parametrize(
    ("removed", "message"),
    [
        ("model/model.safetensors", "model ./model: no weights in this folder, such as model.safetensors"),
        ("model/config.json", "model ./model: no model in this folder: it has no config.json"),
        ("texts.txt", "dataset './texts.txt': no such file or folder"),
    ],
)
def test_missing_files_are_named_before_anything_runs(
    home: Path, run: Run, trained_model: Path, removed: str, message: str
) -> None:
    shutil.copytree(trained_model, home / "model")
    (home / "texts.txt").write_text("a line\n")
    (home / removed).unlink()
    head = 'model = "./model"\ntask = "lm-forward"\nweights = "pretrained"\ndataset = "./texts.txt"\n'
    (home / "s.toml").write_text(f"{head}[axes]\nsequence_length = 8\n")
    for words in (("plan", "s.toml"), ("run", "s.toml"), ("slurm", "s.toml")):
        refused = run(*words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f"benchtui: {message}")

"""A checkout on PYTHONPATH runs without metadata, and without packages that its sweep doesn't need."""

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from benchtui.tui.cli import COMMANDS

ROOT = Path(__file__).parents[2]
TYPES = ROOT / ".types"
OWN_STEP = """
from benchtui import Case

class Step:
    samples = 1
    def __init__(self, case: Case): pass
    def step(self): sum(range(1000))

def make(case: Case): return Step(case)
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def without(home: Path, tmp_path: Path) -> Callable[..., Run]:
    """Make a Python that has all packages except benchtui and these, and return what runs it."""

    def make(*absent: str, pythonpath: str = str(TYPES)) -> Run:
        folder = tmp_path / "python"
        venv.EnvBuilder(symlinks=True).create(folder)
        (packages,) = folder.glob("lib/python3*/site-packages")
        for path in (Path(entry) for entry in sys.path if entry.endswith("site-packages")):
            for each in path.iterdir():
                if not each.name.startswith(("benchtui", "__", *absent)) and each.suffix != ".pth":
                    (packages / each.name).exists() or (packages / each.name).symlink_to(each)

        def run(*words: str, cwd: Path = home) -> subprocess.CompletedProcess[str]:
            command = (str(folder / "bin" / "python"), *words)
            variables = {**os.environ, "PYTHONPATH": pythonpath}
            return subprocess.run(
                command, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=200
            )

        return run

    return make


def sweep_of(model: Path, *more: str) -> list[str]:
    once = ("rounds=1", "iterations=3", "warmup=1", "peaks=false", "wait_for_quiet=off")
    entries = ("weights=random", "device=cpu", "sequence_length=8", *once)
    return ["quick", *(word for entry in (f"model={model}", *entries, *more) for word in ("--set", entry))]


def test_synthetic_sweep_runs_and_is_exported_without_datasets(
    without: Callable[..., Run], home: Path, tiny_model: Path
) -> None:
    python = without("datasets", pythonpath=os.path.relpath(TYPES, home))
    assert "No package metadata" in python("-c", "import importlib.metadata as m; m.version('benchtui')").stderr
    assert python("-m", "benchtui", "--version").stdout == "benchtui, version 0.1.0\n"
    sweep = sweep_of(tiny_model, "dataset=synthetic", "batch_size=1")
    done = python("-m", "benchtui", "run", *sweep, "-o", "s.json")
    assert "1 case: 1 ok" in done.stderr and done.returncode == 0
    done = python("-m", "benchtui", "export", "s.json")
    assert done.stdout.startswith("# Benchmark report") and "benchtui 0.1.0" in done.stdout
    done = python("-m", "benchtui", "run", *sweep_of(tiny_model, "dataset=glue:sst2"), "-o", "t.json")
    assert done.returncode == 2 and not (home / "t.json").exists()
    assert done.stderr == (
        "benchtui: dataset 'glue:sst2' needs datasets, not installed here; run: pip install 'benchtui[run]'\n"
    )


def test_own_step_runs_without_transformers(without: Callable[..., Run], home: Path, tiny_model: Path) -> None:
    python = without("datasets", "transformers", "huggingface_hub", "tokenizers")
    (home / "step.py").write_text(OWN_STEP)
    (home / "step.toml").write_text(
        'task = "step.py:make"\n[run]\nwait_for_quiet = "off"\n[measure]\niterations = 3\npeaks = false\n'
    )
    script = "import benchtui; print(benchtui.run('step.toml', output='s.json', progress=False, trust=True))"
    done = python("-c", script)
    assert done.stdout == "<benchtui.Session s: 1 of 1 case measured, completed>\n", done.stderr
    done = python("-m", "benchtui", "run", *sweep_of(tiny_model), "-o", "t.json")
    assert done.returncode == 2 and "task 'classify' needs transformers, huggingface_hub" in done.stderr


def test_folder_on_sys_path_alone_is_enough_for_the_engine(
    without: Callable[..., Run], home: Path, tiny_model: Path
) -> None:
    python = without("datasets", pythonpath="")
    (home / "step.py").write_text(OWN_STEP)
    (home / "step.toml").write_text(
        'task = "step.py:make"\n[run]\nwait_for_quiet = "off"\n[measure]\niterations = 3\npeaks = false\n'
    )
    script = f"import sys; sys.path.append({str(TYPES)!r}); import benchtui"
    script = f"{script}; print(benchtui.run('step.toml', trust=True))"
    assert "1 of 1 case measured" in python("-c", script).stdout


def test_every_command_is_there(without: Callable[..., Run]) -> None:
    python = without("datasets", "torch", "transformers")
    script = "import benchtui.tui.cli as cli\nfor name in {}: cli.app([name, '--help'], standalone_mode=False)"
    done = python("-c", script.format(list(COMMANDS)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage:") == len(COMMANDS)

"""Recipes of the page on tracking, run on the bundled session; with the real package where it is installed."""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from docs_pages import ROOT, blocks

from benchtui.sessions.export.case_export import as_json
from benchtui.sessions.library.paths import CPU_DEMO, demo_path
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics as summarize

RECIPES = {block.title: block.text for block in blocks(ROOT / "docs/tracking.md") if block.language == "python"}
CASES = 8
MOST_LINES = 15


def packaged(package: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.skipif(find_spec(package) is None, reason=f"{package} isn't installed")]


def mlflow_runs(folder: Path) -> int:
    """Return the number of runs of cases, which have a figure."""
    return len(list(folder.glob("mlflow/*/*/metrics/latency_typical_ms")))


def wandb_runs(folder: Path) -> int:
    return len(list(folder.glob("wandb/offline-run-*")))


def trackio_runs(folder: Path) -> int:
    with sqlite3.connect(folder / "trackio" / "benchtui.db") as database:
        (runs,) = database.execute("select count(distinct run_name) from metrics").fetchone()
    return int(runs)


@pytest.mark.parametrize(
    ("recipe", "runs"),
    [
        pytest.param("to_mlflow.py", mlflow_runs, marks=packaged("mlflow")),
        pytest.param("to_wandb.py", wandb_runs, marks=packaged("wandb")),
        pytest.param("to_trackio.py", trackio_runs, marks=packaged("trackio")),
    ],
)
def test_recipe_records_each_case(recipe: str, runs: Callable[[Path], int], tmp_path: Path) -> None:
    done = run(recipe, tmp_path)
    assert done.returncode == 0, done.stderr
    assert runs(tmp_path) == CASES


def test_prometheus_reads_the_gauges_of_each_case(tmp_path: Path) -> None:
    done = run("to_prometheus.py", tmp_path)
    samples = [line for line in done.stdout.splitlines() if not line.startswith("# TYPE benchtui_")]
    form = r'benchtui_\w+\{session="[^"]+",case="[^"]+",number="\d+"\} \d+\.\d+(e-\d+)?'
    assert [line for line in samples if not re.fullmatch(form, line)] == []
    assert len(samples) == len({line.rpartition(" ")[0] for line in samples}) == 2 * CASES


def test_recipes_are_short() -> None:
    assert len(RECIPES) == 4
    assert all(len(text.splitlines()) <= MOST_LINES for text in RECIPES.values())


def run(recipe: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a recipe on the results of the bundled session. What it records stays in the folder."""
    (folder / recipe).write_text(RECIPES[recipe], "utf-8")
    own = {
        "HOME": str(folder),
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "MLFLOW_TRACKING_URI": f"file:{folder}/mlflow",
        "TRACKIO_DIR": str(folder / "trackio"),
        "WANDB_DIR": str(folder),
        "WANDB_MODE": "offline",
    }
    return subprocess.run(
        [sys.executable, recipe],
        cwd=folder,
        env=os.environ | own,
        input=as_json(Session.load(demo_path(CPU_DEMO), summarize)),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

"""Follow-ups join their session, and a search ends with the case to run."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchtui.sessions.state.session import Session

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_measured_rounds_and_cases_join_their_session(benchtui: Run, sweep_file: Path, home: Path) -> None:
    first = benchtui("run", str(sweep_file), "-o", "s.json", "--set", "batch_size=1")
    assert first.returncode == 0, first.stderr
    joined = benchtui("run", str(sweep_file), "--into", "s.json", "--set", "batch_size=1,2", "--json")
    assert joined.returncode == 0, joined.stderr
    session = Session.load(home / "s.json")
    assert [(case.state, len(case.ends)) for case in session.cases] == [("ok", 2), ("ok", 1)]
    answer = json.loads(joined.stdout.splitlines()[-1])
    assert (answer["session"], answer["states"]) == (str(home / "s.json"), {"ok": 2})
    assert not list((home / "data").rglob("sessions/*.json"))
    planned = json.loads(benchtui("plan", str(sweep_file), "--set", "batch_size=1", "--json").stdout)
    assert planned["cases"][0]["time_basis"] == "measured"


STEP = """
import torch

class Step:
    samples = 1

    def __init__(self):
        self.square = torch.randn(600, 600)

    def step(self):
        for _ in range(3):
            self.square @ self.square

def make(case):
    return Step()
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="the remedy is a second processor")
def test_remedy_of_a_finding_is_tried_in_the_same_session(benchtui: Run, home: Path) -> None:
    (home / "step.py").write_text(STEP)
    (home / "sweep.toml").write_text(
        'task = "step.py:make"\n[axes]\nthreads = 1\n[run]\nwait_for_quiet = "off"\n'
        "[measure]\nwarmup = 1\niterations = 5\npeaks = false\n"
    )
    for _ in range(5):  # a machine too busy for the step to be alike twice yields no finding
        (home / "s.json").unlink(missing_ok=True)
        first = benchtui("run", "sweep.toml", "-o", "s.json", "--trust")
        assert first.returncode == 0, first.stderr
        tried = benchtui("explain", "s.json", "1", "--try", "--rule", "few threads", "--trust")
        if "tried threads=" in tried.stdout:
            break
    assert tried.returncode == 0, tried.stderr
    assert re.search(r"tried threads=\d+: [\d.]+x.*, predicted .*at most [\d.]+x", tried.stdout), tried.stdout
    session = Session.load(home / "s.json")
    assert [(case.state, len(case.ends)) for case in session.cases] == [("ok", 7), ("ok", 6)]
    again = benchtui("explain", "s.json", "1", "--try", "--rule", "few threads", "--trust", "--json")
    assert "nothing to try" in again.stderr
    (trial,) = (
        each for each in json.loads(again.stdout)["cases"][0]["trials"] if each["rule"] == "few threads"
    )
    assert trial["case"] == 1 and trial["measured"] and trial["predicted"] > 1


def test_search_ends_with_the_case_to_run(benchtui: Run, tiny_model: Path, home: Path) -> None:
    found = benchtui(
        "find", str(tiny_model), "--device", "cpu", "--vary", "batch_size", "--within", "10m", "-o", "f.json",
        "--set", "weights=random", "--set", "sequence_length=16", "--set", "batch_size=1", "--set", "warmup=1",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "use it      benchtui optimal" in found.stdout
    session = Session.load(home / "f.json")
    assert session.start.sweep.find is not None
    assert session.cut_off is False

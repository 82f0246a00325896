"""Follow-ups join their session, and a search ends with the case to run."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

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

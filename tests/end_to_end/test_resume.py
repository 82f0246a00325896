"""Resuming a cut-off sweep, as a user does it."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchtui.engine import client
from benchtui.sessions.state.session import Session

Run = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE_S = 120.0
LONG = ("--set", "iterations=1000000", "--set", "max_time=1s", "--set", "peaks=false")


@pytest.fixture
def cut(benchtui: Run, command: str, sweep_file: Path, home: Path) -> Path:
    """A session of three cases whose engine, and the command that waited for it, died in the second."""
    arguments = [command, "run", str(sweep_file), "--set", "batch_size=1,2,3", *LONG]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    folder = home / "data" / "benchtui" / "sessions"
    deadline = time.monotonic() + PATIENCE_S
    while not (found := [path for path in folder.glob("*.json") if _second_case(path)]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (engine,) = client.running()
    os.kill(engine.pid, signal.SIGKILL)
    assert process.wait(timeout=60) == 1
    return found[0]


def _second_case(path: Path) -> bool:
    return path.stat().st_size > 0 and len(Session.load(path).cases[1].measured) > 0


def test_resume_runs_the_remaining_cases_into_the_same_session(benchtui: Run, cut: Path, home: Path) -> None:
    listed = benchtui("sessions").stdout
    (row,) = [line.split() for line in listed.splitlines() if line.startswith(cut.stem)]
    assert "1/3" in row and row[row.index("1/3") + 1] == "2" and "crashed" in listed
    assert benchtui("export", "latest").stdout.count("Incomplete") == 1

    ran = benchtui("run", "--resume", cut.stem, "--json")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stderr.splitlines()
    assert re.fullmatch(r" *[\d.]+ s  resumed after [\d.]+ s: 2 of 3 cases left, 1 to be rerun", lines[0])
    again = [line for line in lines if re.match(r" *[\d.]+ s  .*bs=1 ", line)]
    assert not again, "what was measured before isn't told again"
    counts = lines[-1]
    assert counts == f"3 cases: 3 ok; session {cut}"
    *rows, answer = map(json.loads, ran.stdout.splitlines())
    assert [row["batch_size"] for row in rows] == [2, 3]
    assert answer["session"] == str(cut) and answer["states"] == {"ok": 3}
    assert answer["text"] == [line for line in lines if line in answer["text"]], "the lines say the same"

    report = benchtui("export", "latest").stdout
    assert "Incomplete" not in report and "Resumed" in report
    results = json.loads(benchtui("export", "latest", "--format", "json").stdout)
    assert [row["outcome"] for row in results["cases"]] == ["ok"] * 3
    replayed = benchtui("replay", "latest", "--plain")
    assert replayed.returncode == 0
    assert "resumed after " in replayed.stdout and counts in replayed.stdout.splitlines()
    assert "--resume" not in benchtui("sessions").stdout

    before = cut.read_bytes()
    again = benchtui("run", "--resume", "latest")
    assert again.returncode == 0
    assert again.stderr.splitlines() == [f"{cut}: no cases left to run"]
    assert cut.read_bytes() == before


@pytest.mark.long
def test_interrupted_resume_can_be_resumed_again(benchtui: Run, cut: Path, command: str, home: Path) -> None:
    process = subprocess.Popen([command, "run", "--resume", str(cut)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().split(" s  ")[1].startswith("resumed after ")
    os.kill(process.pid, signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert any(line.endswith(f"; resume: benchtui run --resume {cut}") for line in rest.splitlines())
    assert benchtui("run", "--resume", "latest").returncode == 0
    assert [case.state for case in Session.load(cut).cases] == ["ok"] * 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--resume", "none"), "none: no such session; list the names with `benchtui sessions`"),
        (
            ("--resume", "/none/at/all.json"),
            "can't open the session file for writing: No such file or directory",
        ),
        (("--resume", "latest"), "no session in "),
        (("--resume", "quick.toml"), "can't resume: line 1: not a session event"),
        (("--resume", "demo", "quick"), "--resume uses the sweep and the file of the session"),
    ],
)
def test_session_that_cannot_be_resumed_is_one_line_and_exit_status_2(
    benchtui: Run, home: Path, arguments: tuple[str, ...], said: str
) -> None:
    (home / "quick.toml").write_text('model = "m"\n')
    ran = benchtui("run", *arguments)
    assert ran.returncode == 2
    assert said in ran.stderr and "Traceback" not in ran.stderr

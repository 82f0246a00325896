"""The question about code and variables on a terminal, ``--trust`` without one, and words that are consent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.permissions import approved

Run = Callable[..., Any]
STEP = """
open({ran!r}, "a").close()

class Step:
    samples = 1
    step = int

def make(case):
    return Step()
"""


@pytest.fixture
def sweep(home: Path) -> Path:
    """A sweep with a step that leaves a file, and many variables, some of them hostile."""
    (home / "step.py").write_text(STEP.format(ran=str(home / "ran")))
    path = home / "s.toml"
    variables = "".join(f'N{number} = "\\u001b[31m"\n' for number in range(30))
    path.write_text(
        'task = "step.py:make"\n[run]\nwait_for_quiet = "off"\n'
        "[measure]\nwarmup = 0\niterations = 2\npeaks = false\n"
        f'[env]\nHF_TOKEN = "hf_secret"\n{variables}'
    )
    return path


@pytest.mark.terminal
@pytest.mark.parametrize(
    ("answer", "status"), [("n\r", 130), ("\r", 130), ("yesterday\r", 130), ("\x03", 130), ("y\r", 0)]
)
def test_terminal_asks_and_only_yes_runs(
    open_app: Any, home: Path, sweep: Path, answer: str, status: int
) -> None:
    terminal = open_app("run", str(sweep), "-o", "s.json")
    terminal.wait_for(r"\[y/N\]")
    assert "run function make of" in terminal.text and "and 12 more" in terminal.text
    assert b"\x1b[31m" not in terminal.output and b"hf_secret" not in terminal.output
    terminal.process.send(answer)
    assert terminal.wait_for_exit() == status
    assert (home / "ran").exists() == (home / "s.json").exists() == approved.path().exists() == (status == 0)


def test_without_a_terminal_one_line_names_all_and_trust_runs(benchtui: Run, home: Path, sweep: Path) -> None:
    done = benchtui("run", str(sweep), "-o", "s.json", "--json")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "") and not (home / "ran").exists()
    for words in (f"function make of {home}/step.py", "HF_TOKEN", "N0=", "and 26 more", "--trust"):
        assert words in line
    assert "hf_secret" not in line and "\x1b" not in line
    done = benchtui("run", str(sweep), "-o", "s.json", "--json", "--trust")
    assert done.returncode == 0 and done.stdout.startswith("{") and (home / "ran").exists()


def test_words_after_set_are_consent(benchtui: Run, home: Path, sweep: Path) -> None:
    once = ("rounds=1", "iterations=2", "peaks=false", "wait_for_quiet=off")
    entries = ("task=step.py:make", "axes.env.TYPED=1", *once)
    words = [word for entry in entries for word in ("--set", entry)]
    one_case = ("--set", "device=cpu", "--set", "batch_size=1", "--set", "sequence_length=32")
    done = benchtui("run", "quick", "-o", "s.json", *one_case, "--set", "env.OTHER=1", *words)
    assert done.returncode == 0, done.stderr
    assert (home / "ran").exists()
    done = benchtui("run", str(sweep), *words)
    assert done.returncode == 2 and "HF_TOKEN" in done.stderr and "TYPED" not in done.stderr

"""What works without the extras, and on systems that lack what measuring needs."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import absent
import pytest

EXTRAS = ("torch", "transformers", "datasets", "pandas", "matplotlib", "pyarrow", "numpy")
WINDOWS_MODULES = ("fcntl", "termios", "resource", "pwd", "grp", "tty", "pty")
"""Modules of the standard library that Windows lacks."""
WINDOWS_FUNCTIONS = {
    "os": (
        *(
            "sched_getaffinity",
            "getuid",
            "geteuid",
            "getgid",
            "fork",
            "mkfifo",
            "uname",
            "getloadavg",
            "killpg",
        ),
        *("getpgid", "fchown", "chown", "sysconf", "nice", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"),
        *("O_DIRECTORY", "WNOHANG", "register_at_fork", "set_blocking"),
    ),
    "signal": (
        "SIGHUP",
        "SIGKILL",
        "SIGUSR1",
        "SIGTSTP",
        "SIGCONT",
        "SIGWINCH",
        "SIGSTOP",
        "SIGPIPE",
        "SIGQUIT",
    ),
    "socket": ("AF_UNIX",),
}
FIXTURES = Path(__file__).parents[1] / "fixtures"
Answer = list[Any]
"""Exit status, output and errors."""
INSTALL = "matplotlib, not installed here; run: pip install 'benchtui[figures]'\n"
Run = Callable[..., list[Answer]]


@pytest.fixture
def run(home: Path) -> Run:
    """Run commands in a process without these modules and functions."""

    def run(
        commands: Sequence[Sequence[str]], modules: Sequence[str], functions: Mapping[str, Sequence[str]]
    ) -> list[Answer]:
        wanted = {"modules": modules, "functions": functions, "commands": commands}
        words = [sys.executable, absent.__file__, json.dumps(wanted)]
        done = subprocess.run(words, cwd=home, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr
        answers: list[Answer] = json.loads(done.stdout)
        return answers

    return run


READING: tuple[tuple[str, ...], ...] = (
    ("export", "demo-cpu"),
    ("export", "demo-cpu", "--format", "html", "-o", "report.html"),
    ("export", "demo-cpu", "--format", "csv", "-o", "results.csv"),
    ("import", str(FIXTURES / "gpt2-training-results.csv"), "-o", "table.json"),
    ("compare", "demo-cpu", str(FIXTURES / "quick-cpu.json")),
    ("sessions", "add", "table.json"),
    ("sessions",),
    ("optimal", "table.json"),
    ("replay", "demo-cpu", "--plain"),
    ("plan", "quick"),
)


@pytest.mark.parametrize("system", ["Linux", "Windows"])
def test_sessions_are_read_without_extras_and_on_windows(run: Run, home: Path, system: str) -> None:
    modules, functions = (EXTRAS + WINDOWS_MODULES, WINDOWS_FUNCTIONS) if system == "Windows" else (EXTRAS, {})
    answers = dict(zip(READING, run(READING, modules, functions), strict=True))
    for words, (status, _, errors) in answers.items():
        assert "Traceback" not in errors
        assert status == 0, (words, errors)
    assert answers["export", "demo-cpu"][1].startswith("# ")
    assert answers[READING[1]][2] == f"figures skipped: all ({INSTALL.strip()})\n"
    assert "<svg" not in (home / "report.html").read_text("utf-8").partition("<body")[2]
    assert (home / "results.csv").read_text("utf-8").count("\n") == 9
    assert "B: quick-cpu" in answers[READING[4]][1]
    assert "table" in answers["sessions",][1]


def test_command_that_needs_an_extra_names_it(run: Run) -> None:
    commands = (("export", "demo-cpu", "--figures", "f", "-o", "r.md"), ("doctor",))
    figures, checked = run(commands, EXTRAS, {})
    assert figures == [2, "", f"benchtui: drawing figures needs {INSTALL}"]
    assert checked[0] == 0, "what reading sessions doesn't need is missing, not broken"
    lines = {line.split()[1]: line.split()[0] for line in checked[1].splitlines()}
    assert {lines[what] for what in ("torch", "figures", "frames")} == {"missing"}


def test_nothing_is_measured_where_there_are_no_unix_sockets(run: Run) -> None:
    commands = (("run", "quick"), ("doctor",), ("attach",))
    for status, _, errors in run(commands, EXTRAS + WINDOWS_MODULES, WINDOWS_FUNCTIONS):
        assert status == 2 and errors.count("\n") == 1, errors


def test_tables_in_python_name_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import benchtui

    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "benchtui.tui.api.frames", raising=False)
    with pytest.raises(
        benchtui.BenchtuiError, match=r"needs pandas, not installed here; run: pip install 'benchtui\[frames\]'"
    ):
        benchtui.load("demo-cpu").cases()

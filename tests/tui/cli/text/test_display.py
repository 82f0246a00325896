"""``benchtui export`` on a real terminal, and where its output isn't one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

FIXTURE = Path(__file__).parents[3] / "fixtures" / "comprehensive-report.json"
PROGRAM = "from benchtui.tui.cli import main; main()"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(*words: str, term: str = "xterm") -> str:
    arguments = ["-c", PROGRAM, *words]
    environment = {**os.environ, "TERM": term, "NO_COLOR": "1"}
    child = pexpect.spawn(sys.executable, arguments, env=environment, dimensions=(24, 80), encoding="utf-8")
    child.expect(pexpect.EOF, timeout=120)
    child.close()
    assert child.exitstatus == 0, child.before
    return str(child.before).replace("\r\n", "\n")


@pytest.mark.terminal
def test_report_is_rendered_on_a_terminal_and_is_markdown_anywhere_else(home: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "export", str(FIXTURE)]
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert piped.startswith("# Benchmark report")
    shown = on_terminal("export", str(FIXTURE), "--no-pager")
    assert shown.lstrip("\x1b[01m").startswith(piped.removeprefix("# Benchmark report: ")[:20])
    assert "|" not in shown and "\n## " not in shown
    assert max(len(STYLE.sub("", line)) for line in shown.splitlines()) <= 80
    assert on_terminal("export", str(FIXTURE), "--plain") == piped
    assert on_terminal("export", str(FIXTURE), term="dumb") == piped

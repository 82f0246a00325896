"""The page of a session with very many cases: all of them are in it, and its memory is bounded."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from benchtui.sessions.journal.writer import Journal

CASES, MOST_MB = 20_000, 500.0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_page_renders_very_many_cases_within_500_mb(bench: Any, tmp_path: Path) -> None:
    made = (
        bench.case(size, 10.0 + size / 7, threads=threads, parts={"forward": [9.0] * 30})
        for threads in range(1, 101)
        for size in range(1, CASES // 100 + 1)
    )
    path, out = tmp_path / "large.json", tmp_path / "large.html"
    with mock.patch("os.fsync"):
        journal = Journal(path)
        for event in bench.events(*made):
            journal.append(event)
        journal.close()
    benchtui = Path(sys.executable).parent / "benchtui"
    command = [str(benchtui), "export", str(path), "--full", "--format", "html", "-o", str(out)]
    with subprocess.Popen(command) as process:
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert used.ru_maxrss * 1024 / 1e6 < MOST_MB
    text = out.read_text()
    assert "The 30 fastest of 19,999 cases." in text
    assert "Rows 1,001 to 20,000, as text" in text
    every = text[text.index(">Every case</h2>") :]
    assert f"\n{CASES - 1:>5}  " in every

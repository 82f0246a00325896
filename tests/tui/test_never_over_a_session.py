"""No command or screen overwrites a session, whatever the output path."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.cli import app
from benchtui.tui.editor.draft import Draft
from benchtui.tui.library import actions

FORMS: tuple[tuple[str, ...], ...] = (
    (),
    ("--format", "html"),
    ("--format", "csv"),
    ("--format", "json"),
    ("--format", "parquet"),
    ("--format", "trace"),
    ("--format", "bmf"),
    ("--format", "gab"),
    ("--format", "csv", "--steps"),
    ("--format", "json", "--steps"),
    ("--format", "parquet", "--steps"),
)
REFUSED = "is a session; sessions are never overwritten"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], standalone_mode=False)


@pytest.fixture
def sessions(tmp_path: Path, make_story: Any) -> Path:
    """Create a.json, b.json and other.json, with a link of each kind to the first two."""
    for name in ("a", "b", "other"):
        make_story(tmp_path / f"{name}.json").begin(batch_sizes=(1,)).case(0, 10.0, 30).end().close()
    for name in ("a", "b"):
        (tmp_path / f"{name}-symlink").symlink_to(tmp_path / f"{name}.json")
        (tmp_path / f"{name}-hardlink").hardlink_to(tmp_path / f"{name}.json")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refuses(folder: Path, target: Path, *arguments: object) -> None:
    """Run a command that must reject its target with one line and write nothing."""
    before = contents(folder)
    done = run(*arguments)
    assert isinstance(done.exception, BenchtuiError), done.output
    assert str(done.exception) == f"{target}: {REFUSED}"
    assert done.stdout == ""
    assert contents(folder) == before


@pytest.mark.parametrize(
    "command", [("compare",), ("compare", "--format", "json"), ("export", "--format", "md")], ids=" ".join
)
@pytest.mark.parametrize(
    "name", ["a.json", "b.json", "a-symlink", "b-symlink", "a-hardlink", "b-hardlink", "other.json"]
)
def test_output_never_overwrites_any_of_several_sessions(
    command: tuple[str, ...], name: str, sessions: Path
) -> None:
    target = sessions / name
    refuses(sessions, target, *command, sessions / "a.json", sessions / "b.json", "-o", target)


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.parametrize("name", ["a.json", "a-symlink", "a-hardlink", "other.json"])
def test_output_never_overwrites_a_session(form: tuple[str, ...], name: str, sessions: Path) -> None:
    refuses(sessions, sessions / name, "export", sessions / "a.json", *form, "-o", sessions / name)


def test_an_input_file_is_recognized_by_identity(sessions: Path) -> None:
    first = sessions / "a.json"
    started, *rest = json.loads(first.read_text())
    longer = dict(reversed(started.items()))  # as a tool that sorts its keys would leave it
    first.write_text(json.dumps([longer, *rest], indent=2))
    for more in ((), (sessions / "b.json",)):
        refuses(sessions, sessions / "a-symlink", "export", first, *more, "-o", sessions / "a-symlink")


@pytest.mark.parametrize("name", ["throughput.svg", "throughput.png", "jitter.png"])
def test_plots_are_written_all_or_none(name: str, sessions: Path) -> None:
    figures = sessions / "figures"
    figures.mkdir()
    target = (sessions / "other.json").rename(figures / name)
    report = sessions / "report.md"
    refuses(sessions, target, "export", sessions / "a.json", "--figures", figures, "-o", report)


def test_plots_never_overwrite_the_session_they_show(sessions: Path) -> None:
    session = (sessions / "a.json").rename(sessions / "throughput.svg")
    refuses(sessions, session, "export", session, "--figures", sessions)


def test_a_rejected_report_leaves_no_plots_behind(sessions: Path) -> None:
    target = sessions / "b.json"
    refuses(sessions, target, "export", sessions / "a.json", "--figures", sessions / "figures", "-o", target)
    assert not (sessions / "figures").exists()


@pytest.mark.parametrize(
    "arguments",
    [("compare", "a.json", "b.json"), *(("export", "a.json", *form) for form in FORMS)],
    ids=" ".join,
)
def test_output_overwrites_other_files(arguments: tuple[str, ...], sessions: Path) -> None:
    if "parquet" in arguments:
        pytest.importorskip("pyarrow.parquet")
    target = sessions / "report"
    target.write_text("before")
    command, *rest = arguments
    done = run(command, *(sessions / each if each.endswith(".json") else each for each in rest), "-o", target)
    assert done.exit_code == 0, done.exception
    assert target.read_bytes() not in (b"", b"before")


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "a.json", "b.json"),
        ("export", "a.json", "b.json"),
        *(("export", "a.json", *f) for f in FORMS),
    ],
    ids=" ".join,
)
def test_a_fifo_without_a_reader_is_rejected_immediately(arguments: tuple[str, ...], sessions: Path) -> None:
    if "parquet" in arguments:
        pytest.importorskip("pyarrow.parquet")
    os.mkfifo(sessions / "fifo")
    command = [sys.executable, "-c", "from benchtui.tui.cli import main; main()", *arguments, "-o", "fifo"]
    done = subprocess.run(command, cwd=sessions, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "benchtui: fifo: can't be written: no process is reading from it"


def test_output_is_written_to_a_fifo_with_a_reader(sessions: Path) -> None:
    os.mkfifo(sessions / "fifo")
    reader = os.open(sessions / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("export", sessions / "a.json", "-o", sessions / "fifo").exit_code == 0
        assert os.read(reader, 1 << 16).decode() == run("export", sessions / "a.json").stdout
    finally:
        os.close(reader)


@pytest.mark.parametrize("over", [False, True])
def test_report_of_monitor_or_library_is_never_written_over_a_session(over: bool, sessions: Path) -> None:
    before = contents(sessions)
    for name in ("a.json", "a-symlink", "other.json"):
        with pytest.raises(BenchtuiError, match=f"{name}: {REFUSED}"):
            actions.write_document(partial(str, "report"), sessions / name, (sessions / "a.json",), over=over)
    assert contents(sessions) == before


def test_the_editor_never_saves_over_a_session(sessions: Path) -> None:
    before = contents(sessions)
    with pytest.raises(BenchtuiError, match=REFUSED):
        Draft.of("quick").save(sessions / "a-symlink")
    assert contents(sessions) == before

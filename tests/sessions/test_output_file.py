import os
import re
from pathlib import Path

import pytest

from benchtui.sessions import library
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.output_file import check_output, open_output

ROOT = Path(__file__).parents[2]
SESSION = b'[\n{"event":"session_started","t":0.0,'
REFUSED = "is a session, which is never overwritten"


@pytest.mark.parametrize(
    "begins",
    [
        SESSION,
        SESSION.removeprefix(b"[\n"),
        b'[{"event":"session_started"',
        b'[\r\n    {\r\n        "event": "session_started",',
    ],
)
def test_what_begins_as_a_session_is_one(begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_bytes(begins)
    for over in (False, True):
        with pytest.raises(BenchtuiError, match=rf"report\.md: {REFUSED}"):
            open_output(path, (), over=over)
    assert path.read_bytes() == begins


@pytest.mark.parametrize(
    "begins", [b"", b"[\n", b'[\n{"event":"steps"', b'["event","session_started"]', b" " * 64 + SESSION]
)
def test_anything_else_is_written_over(begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_bytes(begins)
    with open_output(path, ()) as out:
        out.write(b"new")
    assert path.read_bytes() == b"new"


def test_the_demo_begins_as_a_session() -> None:
    with pytest.raises(BenchtuiError, match=REFUSED):
        check_output(library.demo_path(), ())


def test_an_input_is_known_through_links(tmp_path: Path) -> None:
    path, symlink, hard_link = (tmp_path / name for name in ("input", "symlink", "hard link"))
    path.write_text("a session in a form of its own")
    symlink.symlink_to(path)
    hard_link.hardlink_to(path)
    for target in (path, symlink, hard_link, tmp_path / ".." / tmp_path.name / "input"):
        with pytest.raises(BenchtuiError, match=REFUSED):
            check_output(target, (tmp_path / "none", path))


def test_what_is_not_there_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    for name in ("none", "dangling", "nowhere/at/all", "n\0ul"):
        check_output(tmp_path / name, (tmp_path / "input",))


def test_only_what_is_new_is_written_where_nothing_may_be_written_over(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    with open_output(path, (), over=False) as out:
        out.write(b"one")
    with pytest.raises(FileExistsError):
        open_output(path, (), over=False)
    assert path.read_bytes() == b"one"


def test_a_fifo_is_neither_read_nor_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    check_output(tmp_path / "fifo", ())
    with pytest.raises(OSError, match="nothing reads from it"):
        open_output(tmp_path / "fifo", ())


def test_a_device_is_written_as_it_is() -> None:
    with open_output(Path(os.devnull), ()) as out:
        out.write(b"text")


OWN_FILES = {
    "sessions/catalogue.py": "the cache",
    "sessions/keeping.py": "a copy in the library, which must be new",
    "tui/decision_commands.py": "a sweep, which must be new",
    "tui/draft.py": "a temporary file, which replaces a path that was checked",
    "tui/preferences.py": "the state",
}
"""Modules that write files without ``open_output``, and which files."""
WRITES = re.compile(r"""(?<!keeping)\.write_(text|bytes)\(|open\([^)]*["'][wxa]b?\+?["']""")


def test_whatever_else_writes_a_file_opens_it_with_open_output() -> None:
    paths = [path for folder in ("sessions", "tui") for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in paths if WRITES.search(path.read_text())}
    assert found - {"sessions/output_file.py"} == set(OWN_FILES)

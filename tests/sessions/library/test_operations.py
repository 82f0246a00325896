import stat
from pathlib import Path
from typing import Any

import pytest
from journals import write_journal

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library import operations, paths


@pytest.fixture
def record(home: Path, bench: Any) -> Any:
    """Return a function that writes a session to the library, or elsewhere."""

    def write(name: str, folder: Path | None = None, id: str = "abc") -> Path:
        path = (folder or paths.folder()) / name
        write_journal(path, bench.events(bench.case(1, 1.0)))
        path.write_text(path.read_text().replace('"id":"abc"', f'"id":"{id}"'))
        return path

    return write


def test_note_is_stored_next_to_its_session(record: Any) -> None:
    path = record("a.json")
    assert operations.note_of(path) == ""
    operations.write_note(path, "  after the\ndriver update ")
    assert operations.note_of(path) == "after the driver update"
    assert (path.parent / "a.note").read_text() == "after the driver update\n"
    operations.write_note(path, " ")
    assert not (path.parent / "a.note").exists()
    operations.write_note(path, "")


def test_note_does_not_overwrite_a_session_through_a_link(record: Any) -> None:
    path, other = record("a.json"), record("b.json")
    before = path.read_bytes(), other.read_bytes()
    for target in (path, other):
        path.with_suffix(".note").symlink_to(target)
        with pytest.raises(BenchtuiError, match=r"a\.note: is a session; sessions are never overwritten"):
            operations.write_note(path, "text")
        path.with_suffix(".note").unlink()
    assert (path.read_bytes(), other.read_bytes()) == before


def test_rename_also_renames_the_note(record: Any) -> None:
    path = record("a.json")
    operations.write_note(path, "kept")
    renamed = operations.rename(path, "before-v1.2.json", ())
    assert renamed == path.with_name("before-v1.2.json")
    assert renamed.exists() and not path.exists()
    assert operations.note_of(renamed) == "kept"
    assert not (path.parent / "a.note").exists()


@pytest.mark.parametrize(
    "name", ["", " ", ".json", "../a", "a/b", ".hidden", "latest", "-1", "a\0b", "a b", "a\x1b[2J", "n" * 300]
)
def test_invalid_name_is_rejected(record: Any, name: str) -> None:
    path = record("a.json")
    with pytest.raises(BenchtuiError, match="is not a valid session name"):
        operations.rename(path, name, ())
    assert path.exists()


def test_delete_also_deletes_the_note(record: Any) -> None:
    path = record("a.json")
    operations.write_note(path, "kept")
    operations.delete(path, ())
    assert list(paths.folder().iterdir()) == []
    with pytest.raises(BenchtuiError, match="no such session"):
        operations.delete(path, ())


def test_running_session_cannot_be_changed(record: Any) -> None:
    path = record("a.json")
    for act in (lambda: operations.delete(path, {path}), lambda: operations.rename(path, "b", {path})):
        with pytest.raises(BenchtuiError, match="a running sweep can't be"):
            act()
    assert path.exists()


def test_session_outside_the_library_cannot_be_changed(record: Any, tmp_path: Path) -> None:
    path = record("mine.json", tmp_path)
    for act in (
        lambda: operations.delete(path, ()),
        lambda: operations.rename(path, "b", ()),
        lambda: operations.write_note(path, "text"),
    ):
        with pytest.raises(BenchtuiError, match="not in the library"):
            act()
    assert path.exists()


def test_imported_session_is_copied_under_a_free_name(record: Any, tmp_path: Path) -> None:
    record("session.json", id="one")
    source = record("session.json", tmp_path, id="two")
    source.chmod(0o644)
    path = operations.import_session(source)
    assert path == paths.folder() / "session-2.json"
    assert path.read_bytes() == source.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(BenchtuiError, match="already in the library as session-2"):
        operations.import_session(source)

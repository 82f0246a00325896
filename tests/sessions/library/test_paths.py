import os
import shutil
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from journals import write_journal

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library import paths as library

NOW = datetime(2026, 11, 21, 10, 5, 9)  # noqa: DTZ001  (shown as it is)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the library folder in a temporary place. The working directory is another one."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data" / "benchtui" / "sessions"


@pytest.fixture
def record(bench: Any) -> Any:
    """Return a function that writes a session to the library."""

    def write(
        name: str, created: str = "2026-11-21T10:00:00Z", *, id: str = "abc", finished: bool = True
    ) -> Path:
        path = library.folder() / name
        journal = Journal(path)
        for event in bench.events(bench.case(ms=[1.0]), finished="completed" if finished else None):
            if isinstance(event, SessionStarted):
                event = msgspec.structs.replace(event, created=created, id=id)
            journal.append(event)
        journal.close()
        return path

    return write


def test_session_elsewhere_is_known_until_it_is_moved(record: Any, tmp_path: Path) -> None:
    inside = record("inside.json", id="in")
    elsewhere = record("elsewhere.json", id="out").rename(tmp_path / "elsewhere.json")
    for path in (inside, elsewhere, elsewhere):
        library.remember(path)
    assert {entry.path for entry in library.known()} == {inside, elsewhere}
    assert [entry.path for entry in library.entries()] == [inside]
    elsewhere.rename(tmp_path / "moved.json")
    assert [entry.path for entry in library.known()] == [inside]


def test_session_that_the_library_has_as_well_is_known_once(record: Any, tmp_path: Path) -> None:
    inside = record("inside.json")
    library.remember(Path(shutil.copy(inside, tmp_path / "copy.json")))
    assert [entry.path for entry in library.known()] == [inside]


def test_library_folder_is_created_for_its_owner_only(home: Path) -> None:
    assert library.folder() == home == library.folder()
    assert stat.S_IMODE(home.stat().st_mode) & 0o077 == 0


def test_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(
        BenchtuiError, match=r"data/benchtui/sessions: can't create the session folder: Not a dir"
    ):
        library.folder()


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("quick", "quick"),
        ("my sweep/2", "my-sweep-2"),
        ("../../etc/passwd", "etc-passwd"),
        ("..", "sweep"),
        ("", "sweep"),
        ("a\n\x1b\0'\"*?", "a-------"),
        ("für 日本", "für-日本"),
        ("\udcff", "sweep"),
        ("n" * 300, "n" * 160),
        ("日" * 300, "日" * 53),
    ],
)
def test_new_file_is_named_after_sweep_and_time(home: Path, name: str, stem: str) -> None:
    path = library.new_path(name, NOW)
    assert path == home / f"{stem}-20261121-100509.json"
    path.touch()


def test_newest_session_is_listed_first(record: Any) -> None:
    paths = [
        record("b.json", "2026-11-21T10:00:00Z"),
        record("a.json", "2026-11-22T10:00:00Z"),
        record("c.json", "2025-12-31T23:59:59Z", finished=False),
        record("b-2.json", "2026-11-21T10:00:00Z"),
    ]
    found = library.entries()
    assert [entry.path for entry in found] == [paths[1], paths[3], paths[0], paths[2]]
    assert [entry.finished for entry in found] == [True, True, True, False]
    assert found[0].started.sweep.name == "hand"


def test_file_that_is_not_a_session_is_skipped(home: Path, record: Any) -> None:
    path = record("good.json")
    line = path.read_bytes()
    home.joinpath("notes.txt").write_bytes(line)
    for name, data in {
        "empty": b"",
        "bracket": b"[",
        "array": b"[]",
        "other": b'{"a": 1}',
        "cut": line[:100],
        "binary": b"\xff\xfe\x00" * 100,
        "deep": b"[\n" + b"[" * 100_000,
        "wrong": b'[\n{"event":"session_started","t":0},\n',
        "second": b'[\n{"event":"message","t":0,"level":"info","text":""},\n' + line[2:],
    }.items():
        home.joinpath(f"{name}.json").write_bytes(data)
    home.joinpath("folder.json").mkdir()
    home.joinpath("gone.json").symlink_to("nowhere")
    assert [entry.path for entry in library.entries()] == [path]


def test_session_is_resolved_by_name_id_or_latest(record: Any) -> None:
    old = record("old.json", "2026-11-20T10:00:00Z", id="aaa")
    new = record("new.json", "2026-11-21T10:00:00Z", id="bbb")
    for source in ("old", "old.json", "aaa"):
        assert library.resolve(source) == old
    assert library.resolve("latest") == new


def test_path_is_preferred_over_the_library(tmp_path: Path, record: Any) -> None:
    record("old.json", id="latest-id")
    (tmp_path / "old").write_text("mine")
    assert library.resolve("old") == Path("old")
    assert library.resolve("none/s.json") == Path("none/s.json")
    assert library.resolve(os.fspath(tmp_path)) == tmp_path


@pytest.mark.parametrize("source", ["none", "", "a" * 5000, "a\0b", "*"], ids=lambda source: repr(source)[:10])
def test_missing_session_is_an_error(record: Any, source: str) -> None:
    record("old.json")
    with pytest.raises(BenchtuiError, match=r": no such session; list the names with `benchtui sessions`"):
        library.resolve(source)


def test_ambiguous_id_lists_the_matching_files(record: Any) -> None:
    record("one.json", id="same")
    record("two.json", id="same")
    with pytest.raises(BenchtuiError, match=r"^same: 2 sessions match: two\.json, one\.json; use one of these"):
        library.resolve("same")


def test_session_outside_the_library_is_known_while_it_exists(
    record: Any, bench: Any, tmp_path: Path, home: Path
) -> None:
    outside, gone = tmp_path / "out\nside.json", tmp_path / "gone.json"
    for path in (outside, gone):
        write_journal(path, bench.events(bench.case(1, 10.0)))
        library.remember(path)
        library.remember(path)
    gone.unlink()
    assert [entry.path for entry in library.known()] == [outside]
    assert library.entries() == []


def test_damaged_list_of_sessions_is_ignored(home: Path) -> None:
    library.folder().with_name("sessions-elsewhere.jsonl").write_bytes(b'{"a": 1}\n\xff\n"\\u0000"\n[')
    assert library.known() == []

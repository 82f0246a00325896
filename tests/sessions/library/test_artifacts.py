"""Artifacts of backends on the disk: listing, removing and their limit."""

import os
import threading
from pathlib import Path

import msgspec
import pytest

from benchtui.sessions.library import artifacts
from benchtui.sessions.library.artifacts import RECORD, About, Record
from benchtui.sessions.payloads import Artifact

DAY_S = 86_400


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(artifacts.VARIABLE, str(tmp_path))
    return tmp_path


def store(folder: Path, name: str, size: int, used_s: float) -> Path:
    path = folder / name
    path.mkdir()
    record = Record(Artifact(export_s=1.0, convert_s=1.0), {}, About("m", "openvino", "fp32"))
    data = msgspec.json.encode(record)
    (path / RECORD).write_bytes(data)
    (path / "model").write_bytes(bytes(size - len(data)))
    os.utime(path / RECORD, (used_s, used_s))
    return path


def names(found: list[artifacts.Stored]) -> list[str]:
    return [each.path.name for each in found]


def test_artifacts_are_listed_by_their_last_use(folder: Path) -> None:
    assert artifacts.stored() == []
    store(folder, "old", 2000, 5 * DAY_S)
    store(folder, "new", 1000, 6 * DAY_S)
    killed = 16 * "ab"
    (folder / f"{killed}.partial").mkdir()
    (folder / f"{killed}.lock").touch()
    (folder / "photos").mkdir()
    (folder / "photos" / RECORD).write_text("{}")
    first, second, third = artifacts.stored()
    assert (first.path.name, first.about) == (f"{killed}.partial", None)
    assert (second.about, second.size_mb, second.used_s) == (About("m", "openvino", "fp32"), 0.001, 6 * DAY_S)
    assert third.path.name == "old"
    assert names(artifacts.unused(1)) == ["new", "old"]


def test_without_stored_artifacts_the_usual_folder_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(artifacts.VARIABLE)
    usual = artifacts.folder()
    monkeypatch.setenv(artifacts.VARIABLE, artifacts.OFF)
    assert artifacts.folder() == usual


def test_what_was_not_used_for_the_longest_time_is_beyond_the_limit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(4):
        store(folder, str(day), 1000, day * DAY_S)
    assert artifacts.beyond_limit() == []
    monkeypatch.setattr(artifacts, "MOST_MB", 0.0025)
    assert names(artifacts.beyond_limit()) == ["1", "0"]


def test_artifact_that_is_in_use_stays(folder: Path) -> None:
    used, free = store(folder, "used", 1000, DAY_S), store(folder, "free", 1000, DAY_S)
    with artifacts.locked(used, wait=False):
        assert names(artifacts.remove(artifacts.stored())) == ["free"]
    assert used.exists()
    assert not free.exists()


def test_lock_file_goes_with_its_artifact(folder: Path) -> None:
    artifacts.remove([*artifacts.stored()])
    kept, gone = store(folder, "kept", 1000, DAY_S), store(folder, "gone", 1000, DAY_S)
    with artifacts.locked(kept, wait=False):
        pass
    assert names(artifacts.remove([each for each in artifacts.stored() if each.path == gone])) == ["gone"]
    assert sorted(path.name for path in folder.iterdir()) == ["kept", "kept.lock"]


def test_whoever_waited_for_a_removed_artifact_has_its_new_lock(folder: Path) -> None:
    path = folder / "built"
    held, waiting = threading.Event(), threading.Event()

    def build() -> None:
        waiting.set()
        with artifacts.locked(path, wait=True):
            path.mkdir()
            held.set()

    with artifacts.locked(path, wait=False):
        thread = threading.Thread(target=build)
        thread.start()
        waiting.wait()
    thread.join()
    assert held.is_set()
    with artifacts.locked(path, wait=False), pytest.raises(BlockingIOError), artifacts.locked(path, wait=False):
        pass

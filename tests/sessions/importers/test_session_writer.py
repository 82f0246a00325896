import errno
import os
from pathlib import Path

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished
from benchtui.sessions.importers import session_writer
from benchtui.sessions.importers.imported import OF_CASE, Imported, Measurement
from benchtui.sessions.journal import writer
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Reported
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config
from benchtui.sessions.sweep.options import NUMERIC


def measurement(config: Config) -> Measurement:
    finished = CaseFinished(**OF_CASE, outcome="ok", reported=Reported(latency_mean_ms=1.0))
    return Measurement(config=config, finished=finished)


@pytest.mark.parametrize("axis", NUMERIC)
def test_numbers_of_an_axis_are_ascending_whatever_their_order_in_the_file(axis: str, tmp_path: Path) -> None:
    rows = tuple(measurement(Config(device="cpu", **{axis: value})) for value in (64, 8, 16))
    session_writer.write(Imported(kind="tool", measurements=rows), tmp_path / "session.json")
    session = Session.load(tmp_path / "session.json")
    assert getattr(session.start.sweep.axes, axis) == (8, 16, 64)
    assert [getattr(case.config, axis) for case in session.cases] == [64, 8, 16]


def imported() -> Imported:
    row = measurement(Config(device="cpu"))
    return Imported(kind="tool", measurements=(row,))


def test_a_name_that_is_not_utf_8_is_written_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"r\xff\x1b.json")
    session_writer.write(imported(), path)
    assert Session.load(path).start.sweep.name == "r\ufffd\ufffd"


def test_an_error_of_the_disk_names_the_file_and_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_journal: Journal, _line: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Journal, "_write_whole", full)
    path = tmp_path / "i.json"
    with pytest.raises(BenchtuiError, match=f"^{path}: can't be written: No space left on device$"):
        session_writer.write(imported(), path)
    assert not path.exists()


def test_too_many_measurements_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_writer, "MOST_CASES", 2)
    row = measurement(Config(device="cpu"))
    for count in (2, 3):
        imported = Imported(kind="hyperfine", model="m", task="t", dataset="d", measurements=(row,) * count)
        if count == 2:
            session_writer.write(imported, tmp_path / "2.json")
            continue
        with pytest.raises(
            BenchtuiError, match="hyperfine: 3 measurements; at most 2 are allowed: split the file"
        ):
            session_writer.write(imported, tmp_path / "3.json")
    assert [path.name for path in tmp_path.iterdir()] == ["2.json"]


def test_import_waits_for_the_disk_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(writer.os, "fsync", synced.append)
    rows = tuple(measurement(Config(device="cpu", batch_size=size)) for size in range(1, 50))
    imported = Imported(kind="hyperfine", model="m", task="t", dataset="d", measurements=rows)
    session_writer.write(imported, tmp_path / "s.json")
    assert len(synced) == 1

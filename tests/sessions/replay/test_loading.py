import json
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.replay import loading
from benchtui.sessions.replay.loading import AbandonedError
from benchtui.sessions.state.session import Session


@pytest.fixture
def path(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of several slices."""
    monkeypatch.setattr(loading, "SLICE_BYTES", 300)
    journal = Journal(tmp_path / "s.json")
    for event in bench.events(bench.case(1, 10.0), bench.case(2, 20.0)):
        journal.append(event)
    journal.close()
    return tmp_path / "s.json"


def times(session: Session) -> list[list[float]]:
    return [case.measured.wall_ms.tolist() for case in session.cases]


def test_loading_in_slices_equals_loading_at_once(path: Path) -> None:
    found, whole = loading.load(path), Session.load(path)
    assert times(found) == times(whole)
    assert found.finished == whole.finished
    assert not found.torn


def test_torn_line_is_flagged(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])
    assert loading.load(path).torn


def test_reformatted_file_is_loaded(path: Path) -> None:
    whole = times(Session.load(path))
    path.write_text(json.dumps(json.loads(path.read_text())))
    assert times(loading.load(path)) == whole


def test_file_that_is_not_a_session_is_an_error(tmp_path: Path) -> None:
    for name, text in {"empty": "", "other": '{"a": 1}', "array": "[]\n"}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(BenchtuiError, match=name):
            loading.load(tmp_path / name)
    with pytest.raises(BenchtuiError, match="can't be read"):
        loading.load(tmp_path / "none")


def test_loading_stops_once_it_is_not_wanted(path: Path) -> None:
    asked: list[bool] = []

    def wanted() -> bool:
        asked.append(True)
        return len(asked) < 3

    with pytest.raises(AbandonedError):
        loading.load(path, wanted)
    assert len(asked) == 3

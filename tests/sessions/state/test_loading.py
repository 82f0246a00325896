from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import AbandonedError
from benchtui.sessions.journal import reader
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.state.session import Session


@pytest.fixture
def path(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of several slices."""
    slices = partial(reader.slices, size=300)
    monkeypatch.setattr(reader, "slices", slices)
    journal = Journal(tmp_path / "s.json")
    for event in bench.events(bench.case(1, 10.0), bench.case(2, 20.0)):
        journal.append(event)
    journal.close()
    return tmp_path / "s.json"


def test_loading_stops_once_it_is_not_wanted(path: Path) -> None:
    asked: list[bool] = []

    def wanted() -> bool:
        asked.append(True)
        return len(asked) < 3

    with pytest.raises(AbandonedError):
        Session.load(path, wanted=wanted)
    assert len(asked) == 3

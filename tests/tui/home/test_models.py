"""Models on Home are listed once, with the sessions that measured them under any name."""

from pathlib import Path

import pytest

from benchtui.sessions.events import SessionStarted
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Sweep
from benchtui.tui.home.models import list_models


def session(model: str, folder: Path, task: str = "embed") -> SessionFile:
    swept = Sweep(name="s", model=model, task=task)
    started = SessionStarted(
        t=0, id="x", created="2026", sweep=swept, plan=(), host=Host(hostname="box"), folder=str(folder)
    )
    return SessionFile(folder / "s.json", started, finished=True)


def test_sessions_of_one_model_belong_together_under_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "work" / "mine"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (tmp_path / "link").symlink_to(model)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    names = ["./mine", str(model), "mine/", str(tmp_path / "link")]
    sessions = [session(name, model.parent) for name in names] + [session("mine", model.parent, "classify")]
    (entry,) = list_models([str(tmp_path / "work")], sessions, "box", {})
    assert Path(entry.model).is_absolute() and Path(entry.model).samefile(model)
    assert entry.sessions == tuple(sessions[:4])
    assert list_models([], sessions, "another", {}) == []

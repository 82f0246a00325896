from pathlib import Path
from typing import Any

import pytest

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.engine.executor import Node
from benchtui.engine.supervisor.supervisor import Supervisor
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Sweep


class Cluster:
    """An executor that has joined its nodes."""

    warnings = ()
    host = Host()
    nodes = (Node(None, Host()),)

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("problem", ["task", "folder", "character"])
def test_executor_is_closed_if_the_session_cannot_begin(problem: str, home: Path) -> None:
    cluster: Any = Cluster()
    path = {"folder": home / "none" / "s.json", "character": home / "s\0.json"}.get(problem, home / "s.json")
    sweep = Sweep(name="s", model="m", task="nowhere.py:make" if problem == "task" else "classify")
    with pytest.raises(BenchtuiError):
        Supervisor("some-id", sweep, path, cluster)
    assert cluster.closed == 1
    assert list(home.rglob("*.json")) == []


def test_file_without_events_is_removed_if_the_session_cannot_begin(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise BenchtuiError("no")

    monkeypatch.setattr("benchtui.engine.supervisor.supervisor.Scheduler", fail)
    cluster: Any = Cluster()
    with pytest.raises(BenchtuiError, match=r"^no$"):
        Supervisor("some-id", Sweep(name="s", model="m"), home / "s.json", cluster)
    assert (cluster.closed, list(home.rglob("s.json"))) == (1, [])


def test_waiting_sweep_begins_once_those_before_it_have_ended(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = iter((True, True, False))
    monkeypatch.setattr(Engine, "alive", lambda engine: next(checks, False))
    monkeypatch.setattr("benchtui.engine.supervisor.supervisor.OTHERS_CHECK_S", 0.0)
    monkeypatch.setattr(
        "benchtui.engine.event_loop.EventLoop.catch_signals", lambda *_: None
    )  # of this process
    monkeypatch.setattr(client, "running", lambda: [Engine("other", home / "quick-77.json", 1)])
    cluster: Any = Cluster()
    begun: list[bool] = []
    cluster.open = lambda context: begun.append(next(checks, None) is None)
    cluster.prepare = lambda: (_ for _ in ()).throw(BenchtuiError("far enough"))
    supervisor = Supervisor("some-id", Sweep(name="s", model="m"), home / "s.json", cluster, wait=True)
    with pytest.raises(BenchtuiError, match="far enough"):
        supervisor.run()
    assert begun == [True]
    log = (home / "s.json").read_text()
    assert "waiting until another sweep on this machine has ended: quick-77" in log
    assert "may disturb this one" not in log

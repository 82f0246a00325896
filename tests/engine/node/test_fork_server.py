import os
from multiprocessing import forkserver
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.node import fork_server
from benchtui.engine.node.fork_server import CUDA_CHECK


@pytest.mark.parametrize(("set_to", "seen"), [(None, "1"), ("0", "0")])
@pytest.mark.parametrize("begin", [True, False])
def test_libraries_imported_by_the_server_initialize_no_cuda(
    begin: bool, set_to: str | None, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CUDA_CHECK, "")  # restored afterwards, also if it was unset
    monkeypatch.delenv(CUDA_CHECK) if set_to is None else monkeypatch.setenv(CUDA_CHECK, set_to)
    started: list[str | None] = []
    note = lambda: started.append(os.environ.get(CUDA_CHECK))  # noqa: E731
    monkeypatch.setattr(fork_server, "_plain", SimpleNamespace(ensure_running=note, _forkserver_pid=None))
    process: Any = SimpleNamespace(start=note)
    fork_server.begin() if begin else fork_server.start(process)
    assert started == [seen]


class FakeServer:
    """Server that notes the environment in which it is started."""

    def __init__(self, pid: int) -> None:
        self._forkserver_pid: int | None = pid
        self._forkserver_alive_fd = None


def test_server_is_started_with_its_variables_and_they_are_gone_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str | None, str | None]] = []
    monkeypatch.setattr(
        forkserver.ForkServer,
        "ensure_running",
        lambda server: seen.append((os.environ.get("BENCHTUI_NEW"), os.environ.get("BENCHTUI_OLD"))),
    )
    monkeypatch.setenv("BENCHTUI_OLD", "before")
    fork_server._ServerWithVariables({"BENCHTUI_NEW": "a b", "BENCHTUI_OLD": ""}).ensure_running()
    assert seen == [("a b", "")]
    assert (os.environ.get("BENCHTUI_NEW"), os.environ.get("BENCHTUI_OLD")) == (None, "before")


def test_processes_with_equal_variables_share_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "_servers", {})
    used: list[Any] = []
    process: Any = SimpleNamespace(start=lambda: used.append(fork_server._current.get()))
    for variables in ({"A": "1", "B": "2"}, {"B": "2", "A": "1"}, {"A": "2"}, {}):
        fork_server.start(process, variables)
    first, again, other, plain = used
    assert first is again
    assert len({id(first), id(other), id(plain)}) == 3
    assert plain is forkserver._forkserver


def test_servers_unused_for_longest_are_killed_unless_they_run_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = {frozenset({("A", str(pid))}): FakeServer(pid) for pid in range(1, fork_server.MOST_SERVERS + 3)}
    monkeypatch.setattr(fork_server, "_servers", servers)
    killed: list[int] = []
    monkeypatch.setattr(fork_server, "kill_server", killed.append)
    fork_server.kill_least_used({1})
    assert killed == [2, 3]
    assert fork_server.server_pid({"A": "2"}) is None
    assert fork_server.server_pid({"A": "1"}) == 1

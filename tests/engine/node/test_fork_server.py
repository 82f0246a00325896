import os
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
    monkeypatch.setattr(fork_server, "_server", SimpleNamespace(ensure_running=note, _forkserver_pid=None))
    process: Any = SimpleNamespace(start=note)
    fork_server.begin() if begin else fork_server.start(process)
    assert started == [seen]

"""Which executor a sweep gets, and what is said where that can't be had."""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchtui.engine import client, doctor
from benchtui.engine.__main__ import _executor
from benchtui.engine.doctor import Check
from benchtui.engine.node.runner import NodeRunner
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files import extras
from benchtui.sessions.sweep import Run, Sweep


def test_sweep_runs_on_this_machine_by_default() -> None:
    executor = _executor(Sweep(name="a", model="gpt2"))
    assert isinstance(executor, NodeRunner)
    assert [node.name for node in executor.nodes] == [None] and executor.warnings == ()


def test_missing_ray_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "benchtui.engine.executors.ray", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        BenchtuiError, match=r"^run.executor: 'ray' is not installed; run: pip install 'benchtui\[ray\]'"
    ):
        _executor(Sweep(name="a", model="gpt2", run=Run(executor="ray")))


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed here")
def test_missing_ray_creates_no_session(home: Path, tiny_sweep: Callable[..., Sweep]) -> None:
    path = home / "s.json"
    with pytest.raises(BenchtuiError, match=r"is not installed; run: pip install 'benchtui\[ray\]'"):
        client.start(tiny_sweep("executor=ray"), path)
    assert not path.exists() and client.running() == []


def test_missing_packages_name_the_extra_and_create_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "torch" else find_spec(name))
    expected = r"^running a sweep needs torch, not installed here; run: pip install 'benchtui\[run\]'$"
    with pytest.raises(BenchtuiError, match=expected):
        _executor(Sweep(name="a", model="gpt2"))
    reason = expected[1:-1].replace("\\", "")
    assert doctor._query_torch() == Check("torch", "missing", f"{reason}; sessions can be read without it")

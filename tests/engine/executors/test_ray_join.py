"""Joining a Ray cluster, with a stand-in for Ray."""

import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from benchtui.sessions.sweep import Run


class Interrupted(BaseException):
    """Neither Ray's nor ours."""


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a module that imports as Ray does."""
    fake: Any = ModuleType("ray")
    fake.init, fake.shutdown, fake.nodes = Mock(), Mock(), Mock()
    fake.method = lambda **_: lambda function: function
    errors = SimpleNamespace(
        RayError=type("RayError", (Exception,), {}), RayTaskError=type("RayTaskError", (Exception,), {})
    )
    strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=Mock())
    modules = {"ray": fake, "ray.exceptions": errors, "ray.util": ModuleType("ray.util")}
    for name, module in (modules | {"ray.util.scheduling_strategies": strategies}).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "benchtui.engine.executors.ray", raising=False)
    yield fake
    sys.modules.pop("benchtui.engine.executors.ray", None)


@pytest.mark.parametrize("error", [KeyError("NodeID"), Interrupted()])
def test_cluster_is_left_whatever_keeps_it_from_being_joined(ray: Any, error: BaseException) -> None:
    ray.nodes.side_effect = error
    with pytest.raises(type(error)):
        importlib.import_module("benchtui.engine.executors.ray").join(Run(executor="ray"))
    ray.shutdown.assert_called_once_with()

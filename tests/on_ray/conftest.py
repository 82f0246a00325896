"""A Ray cluster on this machine, its nodes with little to give, and engines that run sweeps on it."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

KINDS = ({"fast": 1.0}, {"fast": 1.0}, {"slow": 1.0})
"""What the nodes are told apart by, beside their names."""


class Lab:
    """A cluster whose nodes can be killed."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster  # here: without Ray this file is still imported

        self.cluster: Any = Cluster()
        for resources in KINDS:
            self.cluster.add_node(
                num_cpus=1,
                resources=resources,
                object_store_memory=100_000_000,
                include_dashboard=False,
                labels={"speed": next(iter(resources))},
            )
        self.address: str = self.cluster.address

    def kill(self, node_id: str) -> None:
        """Kill a node as losing its power would."""
        node = next(each for each in self.cluster.list_all_nodes() if each.node_id == node_id)
        self.cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        self.cluster.shutdown()


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    made = Lab()
    yield made
    made.close()


@pytest.fixture
def on_ray(lab: Lab, tiny_sweep: Callable[..., Any]) -> Callable[..., Any]:
    """Make a sweep of the tiny model on the cluster."""
    return lambda *overrides: tiny_sweep(
        "executor=ray", f"address={lab.address}", "repeat_on_each=false", *overrides
    )


os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

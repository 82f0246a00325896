"""Ray executor: cases on the nodes of a Ray cluster. Ray finds and reserves nodes and carries the messages.

Ray is an optional extra. Only this module imports it, and only a sweep that requests Ray loads this module.
"""

import logging
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from typing import Any

import psutil

os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")
# Ray reads it on import; by default it retries for five minutes if the server isn't a cluster

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from benchtui.engine.executor import Node
from benchtui.engine.executors.cluster import ClusterExecutor, unique_names
from benchtui.engine.executors.stdio_relay import AgentProcess, PullTransport
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import visible
from benchtui.sessions.sweep import Run

CONNECT_S = 5.0
"""Seconds for a head node to accept a TCP connection."""
_MAX_ERROR_CHARS = 300
_NOT_A_RESOURCE = ("memory", "object_store_memory")
_KIND_PREFIX = "accelerator_type:"
"""Prefix of the resource in which Ray reports the GPU model of a node."""
_RAY_LABEL_PREFIX = "ray.io/"
"""Prefix of labels that Ray generates at each start."""


class RayNodeActor(AgentProcess):
    """Ray actor of a node. Its node agent runs as it would without Ray, on the GPUs that Ray has assigned."""

    def __init__(self) -> None:
        """Start the node agent with the environment and the priority of Ray on this node."""
        raylet = psutil.Process().parent()
        env = dict(os.environ)
        with suppress(psutil.Error, OSError):
            env = raylet.environ() if raylet else env
            os.setpriority(os.PRIO_PROCESS, 0, raylet.nice() if raylet else 0)
        if (gpus := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None and ray.get_gpu_ids():
            env["CUDA_VISIBLE_DEVICES"] = gpus
        super().__init__(env=env)

    # one thread each; set here because a client of `ray://` can't request it
    read = ray.method(concurrency_group="read")(AgentProcess.read)
    write = ray.method(concurrency_group="write")(AgentProcess.write)


def join(run: Run) -> ClusterExecutor:
    """Connect to a cluster and start a node agent on each node that a sweep may use.

    Raises BenchtuiError if that fails. Nothing is left behind.
    """
    with redirect_stdout(sys.stderr):  # stdout carries the engine's answer to its client
        _connect(run.address)
        try:
            usable = _usable_nodes(run)
            transports = {name: _start_agent(described) for name, (_, described) in usable.items()}
            nodes = {name: node for name, (node, _) in usable.items()}
            return ClusterExecutor(transports, nodes, lambda: _leave_cluster(transports.values()))
        except (RayError, RuntimeError, ValueError) as error:
            ray.shutdown()
            raise BenchtuiError(f"run.address: {run.address!r}: {_one_line(error)}") from error
        except BaseException:
            ray.shutdown()
            raise


def _connect(address: str) -> None:
    _require_listener(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (RayError, RuntimeError, ConnectionError, ValueError, OSError) as error:
        raise BenchtuiError(f"run.address: no Ray cluster at {address!r}: {_one_line(error)}") from error


def _require_listener(address: str) -> None:
    """Reject an address without a listener. Ray itself would retry for a long time or end the process."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise BenchtuiError(f"run.address: no Ray cluster at {address!r}: {error}") from error


def _usable_nodes(run: Run) -> dict[str, tuple[Node, Mapping[str, Any]]]:
    """Return the nodes that a sweep may use by name, each with Ray's description."""
    alive = [node for node in ray.nodes() if node["Alive"] and _slots(node) != (0, 0)]
    alive.sort(key=lambda node: (node["NodeManagerHostname"], node["NodeManagerAddress"], node["NodeID"]))
    names = unique_names(node["NodeManagerHostname"] for node in alive)
    nodes = {name: (_node(name, described), described) for name, described in zip(names, alive, strict=True)}
    matching = {name: usable for name, usable in nodes.items() if usable[0].matches(run.place)}
    if matching:
        return matching
    if not nodes:
        raise BenchtuiError(f"run.address: the Ray cluster at {run.address!r} has no node with CPUs or GPUs")
    places = (place for name, (node, _) in nodes.items() for place in (*_place_values(node), name))
    available = ", ".join(dict.fromkeys(places))
    raise BenchtuiError(f"run.place: no node of the cluster matches {run.place!r}; available: {available}")


def _node(name: str, described: Mapping[str, Any]) -> Node:
    resources = {
        key: float(amount)
        for key, amount in described["Resources"].items()
        if key not in _NOT_A_RESOURCE and not key.startswith(("node:", _KIND_PREFIX))
    }
    kinds = [key.removeprefix(_KIND_PREFIX) for key in described["Resources"] if key.startswith(_KIND_PREFIX)]
    labels = {
        key: str(value)
        for key, value in (described.get("Labels") or {}).items()
        if not key.startswith(_RAY_LABEL_PREFIX)
    }
    kind = next(iter(kinds), "gpu" if "GPU" in resources else "cpu")
    return Node(name, kind=kind, labels=labels, resources=resources)


def _place_values(node: Node) -> Iterator[str]:
    yield node.kind
    yield from (f"{key}={value}" for key, value in node.labels.items())
    yield from (key for key in node.resources if key not in ("CPU", "GPU"))


def _slots(node: Mapping[str, Any]) -> tuple[float, float]:
    return node["Resources"].get("CPU", 0), node["Resources"].get("GPU", 0)


def _start_agent(node: Mapping[str, Any]) -> PullTransport:
    """Start an actor that reserves the whole node, so that no other job of the cluster runs there."""
    cpus, gpus = _slots(node)
    actor: Any = ray.remote(
        num_cpus=cpus,
        num_gpus=gpus,
        max_restarts=0,
        concurrency_groups={"read": 1, "write": 1},
        scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
    )(RayNodeActor).remote()

    def fetch() -> bytes:
        try:
            output: bytes = ray.get(actor.read.remote())
        except RayTaskError as error:
            raise BenchtuiError(_one_line(error.cause)) from error
        except RayError as error:
            raise BenchtuiError(_one_line(error)) from error
        return output

    return PullTransport(fetch, actor.write.remote, lambda: _kill(actor))


def _leave_cluster(transports: Iterable[PullTransport]) -> None:
    """Leave the cluster after the last thread has stopped calling it."""
    for transport in transports:
        transport.join()
    ray.shutdown()


def _kill(actor: Any) -> None:  # noqa: ANN401 (Ray's handles have no public type)
    with suppress(RayError, RuntimeError):
        ray.kill(actor)


def _one_line(error: BaseException) -> str:
    """Return an error as one line, without the traceback that Ray may append."""
    text = str(error).partition(" Last connection error")[0]
    return visible(" ".join(text.split()), _MAX_ERROR_CHARS) or type(error).__name__

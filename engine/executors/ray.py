"""Cases on the nodes of a Ray cluster: Ray finds the nodes, keeps them free for us and carries the messages.

Ray is an extra. This module alone imports it, and is imported only for a sweep that asks for it.
"""

import logging
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any

import psutil

os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")
# read when Ray is loaded; it would ask what listens and is no cluster for five minutes

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from benchtui.engine.executor import Node
from benchtui.engine.executors.cluster import Cluster, Member, named
from benchtui.engine.executors.stdio_relay import AgentProcess, PullTransport
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Host
from benchtui.sessions.sanitize import visible
from benchtui.sessions.sweep import Run

CONNECT_S = 5.0
"""How long a head node may take to answer a plain connection."""
_LONGEST = 300
_NOT_A_RESOURCE = ("memory", "object_store_memory")
_KIND = "accelerator_type:"
"""Begins the resource by which Ray names what a node's GPUs are."""
_OF_RAY = "ray.io/"
"""Begins labels that Ray makes up itself at each start."""


class RayNodeActor(AgentProcess):
    """The actor of a node: its station runs as it would without Ray, with the GPUs that Ray has given us."""

    def __init__(self) -> None:
        """Start the station in the environment and at the priority in which Ray was started on this node."""
        raylet = psutil.Process().parent()
        env = dict(os.environ)
        with suppress(psutil.Error, OSError):
            env = raylet.environ() if raylet else env
            os.setpriority(os.PRIO_PROCESS, 0, raylet.nice() if raylet else 0)
        if (gpus := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None and ray.get_gpu_ids():
            env["CUDA_VISIBLE_DEVICES"] = gpus
        super().__init__(env=env)

    # each in a thread of its own; told here, since a client of `ray://` can't ask for it
    read = ray.method(concurrency_group="read")(AgentProcess.read)
    write = ray.method(concurrency_group="write")(AgentProcess.write)


def join(run: Run) -> Cluster:
    """Connect to a cluster, and hold a station on each of the nodes that a sweep may use.

    Raises:
        BenchtuiError: where that can't be done; nothing is left behind then.
    """
    with _quiet():
        _connect(run.address)
        try:
            found = _nodes(run)
            wires = {member.name: _wire(node) for member, node in found}
            return Cluster(wires, [member for member, _ in found], lambda: _let_go(wires.values()))
        except (RayError, RuntimeError, ValueError) as error:
            ray.shutdown()
            raise BenchtuiError(f"run.address: {run.address!r}: {_line(error)}") from error
        except BenchtuiError:
            ray.shutdown()
            raise


def _connect(address: str) -> None:
    _require_listener(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (RayError, RuntimeError, ConnectionError, ValueError, OSError) as error:
        raise BenchtuiError(f"run.address: no Ray cluster at {address!r}: {_line(error)}") from error


def _require_listener(address: str) -> None:
    """Refuse at once an address where nobody listens: Ray itself would try for long, or end the process."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise BenchtuiError(f"run.address: no Ray cluster at {address!r}: {error}") from error


def _nodes(run: Run) -> list[tuple[Member, Mapping[str, Any]]]:
    """The nodes that may be used, with what Ray says of each."""
    alive = [node for node in ray.nodes() if node["Alive"] and _slots(node) != (0, 0)]
    alive.sort(key=lambda node: (node["NodeManagerHostname"], node["NodeManagerAddress"], node["NodeID"]))
    names = named(node["NodeManagerHostname"] for node in alive)
    members = [(_member(name, node), node) for name, node in zip(names, alive, strict=True)]
    wanted = [(member, node) for member, node in members if _known(member).answers(run.place)]
    if wanted:
        return wanted
    if not members:
        raise BenchtuiError(
            f"run.address: the Ray cluster at {run.address!r} has no node with processors or GPUs"
        )
    there = ", ".join(dict.fromkeys(word for member, _ in members for word in _words(member)))
    raise BenchtuiError(f"run.place: no node of the cluster is {run.place!r}; there are: {there}")


def _member(name: str, node: Mapping[str, Any]) -> Member:
    resources = {
        key: float(amount)
        for key, amount in node["Resources"].items()
        if key not in _NOT_A_RESOURCE and not key.startswith(("node:", _KIND))
    }
    kinds = [key.removeprefix(_KIND) for key in node["Resources"] if key.startswith(_KIND)]
    labels = {
        key: str(value) for key, value in (node.get("Labels") or {}).items() if not key.startswith(_OF_RAY)
    }
    kind = next(iter(kinds), "gpu" if "GPU" in resources else "cpu")
    return Member(name, kind, labels, resources)


def _known(member: Member) -> Node:
    """A member as far as it is known before a station is there."""
    return Node(member.name, Host(), member.kind, member.labels, member.resources)


def _words(member: Member) -> Iterator[str]:
    """Everything by which it can be asked for."""
    yield member.kind
    yield from (f"{key}={value}" for key, value in member.labels.items())
    yield from (key for key in member.resources if key not in ("CPU", "GPU"))
    yield member.name


def _slots(node: Mapping[str, Any]) -> tuple[float, float]:
    """Processors and GPUs that a node has to give."""
    return node["Resources"].get("CPU", 0), node["Resources"].get("GPU", 0)


def _wire(node: Mapping[str, Any]) -> PullTransport:
    """Hold a station on a node: all of it, so that nothing else of the cluster runs there meanwhile."""
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
            said: bytes = ray.get(actor.read.remote())
        except RayTaskError as error:
            raise BenchtuiError(_line(error.cause)) from error
        except RayError as error:
            raise BenchtuiError(_line(error)) from error
        return said

    return PullTransport(fetch, actor.write.remote, lambda: _kill(actor))


def _let_go(wires: Iterable[PullTransport]) -> None:
    """Leave the cluster, once no thread asks it for anything."""
    for wire in wires:
        wire.join()
    ray.shutdown()


def _kill(actor: Any) -> None:  # noqa: ANN401 (Ray's handles have no type of ours)
    with suppress(RayError, RuntimeError):
        ray.kill(actor)


def _line(error: BaseException) -> str:
    """What an error says, in one line, without the traceback that Ray may put behind it."""
    said = str(error).partition(" Last connection error")[0]
    return visible(" ".join(said.split()), _LONGEST) or type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Ray prints out of the engine's answer to its client."""
    with redirect_stdout(sys.stderr):
        yield

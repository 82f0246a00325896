"""Cluster executor: cases on several machines, with a node agent on each.

Finding and reaching the machines is up to the module that knows the cluster, such as ``ray``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from time import monotonic

from msgspec.structs import replace

from benchtui.engine.executor import ExecutorContext, Node
from benchtui.engine.executors.remote_node import RemoteCase, RemoteNode, RemotePreflightTask, Transport
from benchtui.engine.job import REPORT_S, Job
from benchtui.engine.node.protocol import Hello, Measure, Prepare
from benchtui.engine.telemetry.gpu.open import open_gpus
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.telemetry.sampler import Sampler
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Host
from benchtui.sessions.version import VERSION

EVENTS_HZ = 20
"""Step events per second over all nodes. The limit keeps the cost to the engine and to viewers nearly
independent of the number of nodes."""
MAX_REPORT_INTERVAL_S = 2.0
"""Maximum seconds between two step events of a case, which limits the age of what is shown."""
JOIN_S = 90.0
"""Seconds within which all nodes must start. Most of the time is spent on starting processes there."""
_NAMED = 3
"""Maximum number of nodes listed by name. For more, only their number is shown."""


class ClusterExecutor:
    """Executor with a node agent on each node."""

    def __init__(
        self, transports: Mapping[str, Transport], nodes: Mapping[str, Node], on_close: Callable[[], None]
    ) -> None:
        """Wait until every node agent is running, which describes its host.

        Transports and nodes are by name. ``on_close`` is called after they are closed. Raises BenchtuiError if
        an agent doesn't start or has another version.
        """
        self._on_close = on_close
        self._sampler: Sampler | None = None
        self._remote_nodes = {name: RemoteNode(name, transport) for name, transport in transports.items()}
        with ExitStack() as on_error:
            on_error.callback(self.close)
            deadline_s = monotonic() + JOIN_S
            hellos = {name: remote.handshake(deadline_s) for name, remote in self._remote_nodes.items()}
            _require_version({name: hello.version for name, hello in hellos.items()})
            self.host = describe_host(open_gpus())
            """The engine's machine."""
            self.nodes = tuple(self._joined(name, node, hellos[name]) for name, node in nodes.items())
            self.warnings = (
                *software_differences({name: hello.host for name, hello in hellos.items()}),
                *_nice_warnings(hellos),
            )
            on_error.pop_all()

    def _joined(self, name: str, node: Node, hello: Hello) -> Node:
        offset_s = self._remote_nodes[name].offset_s
        return replace(node, host=hello.host, visible=hello.visible, clock_offset_s=offset_s)

    def open(self, context: ExecutorContext) -> None:
        """Prepare every node for cases, and sample the load caused by the engine itself."""
        for remote in self._remote_nodes.values():
            remote.open(context, report_s(len(self._remote_nodes)))
        zero_s = context.settings.zero_s
        self._sampler = Sampler(None, clock=lambda: round(monotonic() - zero_s, 6), emit=context.emit)
        self._sampler.start()

    def prepare(self) -> RemotePreflightTask:
        """Measure idle power and query torch on all nodes at once."""
        for remote in self._remote_nodes.values():
            remote.start_task(Prepare())
        return RemotePreflightTask(self._remote_nodes.values())

    def measure_peaks(self, wanted: Mapping[str | None, Sequence[PeakKey]]) -> RemotePreflightTask:
        """Measure device peaks on all nodes at once."""
        for name, keys in wanted.items():
            if name is not None and keys:
                self._remote_nodes[name].start_task(Measure(peaks=tuple(keys)))
        return RemotePreflightTask(self._remote_nodes.values())

    def start(self, job: Job, node: str | None) -> RemoteCase:
        """Start a case; raise BenchtuiError if its node is lost."""
        if node is None:
            raise AssertionError("the nodes of a cluster have names")
        return self._remote_nodes[node].start(job)

    def close(self) -> None:
        """Close every node and leave the cluster."""
        for remote in self._remote_nodes.values():
            remote.close()
        if self._sampler:
            self._sampler.stop()
        self._on_close()


def report_s(nodes: int) -> float:
    """Return the seconds between two step events of a case, given the number of nodes."""
    return min(MAX_REPORT_INTERVAL_S, max(REPORT_S, nodes / EVENTS_HZ))


def unique_names(hostnames: Iterable[str]) -> list[str]:
    """Return unique machine names: the host name, with ``#2``, ``#3``, … for further machines of that name."""
    seen: dict[str, int] = {}
    names = []
    for hostname in hostnames:
        seen[hostname] = seen.get(hostname, 0) + 1
        names.append(hostname if seen[hostname] == 1 else f"{hostname}#{seen[hostname]}")
    return names


def software_differences(hosts: Mapping[str, Host]) -> list[str]:
    """Return a line for each piece of software whose version differs between nodes."""
    facts = {name: _software(host) for name, host in hosts.items()}
    lines = []
    for what in dict.fromkeys(what for differences in facts.values() for what in differences):
        there: dict[str, list[str]] = {}
        for name, versions in facts.items():
            there.setdefault(versions.get(what) or "none", []).append(name)
        if len(there) > 1:
            text = ", ".join(f"{version} ({_names(names)})" for version, names in there.items())
            lines.append(f"nodes differ in {what}: {text}")
    return lines


def _software(host: Host) -> dict[str, str | None]:
    return {"Python": host.python, "GPU driver": host.driver, **host.packages}


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} nodes"


def _nice_warnings(hellos: Mapping[str, Hello]) -> list[str]:
    """Return a line for nodes on which other processes have priority (positive nice value)."""
    behind: dict[int, list[str]] = {}
    for name, hello in hellos.items():
        if hello.nice > 0:
            behind.setdefault(hello.nice, []).append(name)
    return [
        f"benchtui runs at nice {nice} on {_names(names)}: other processes have priority"
        for nice, names in behind.items()
    ]


def _require_version(versions: Mapping[str, str]) -> None:
    for name, version in versions.items():
        if version == VERSION:
            continue
        raise BenchtuiError(
            f"node {name} runs benchtui {version}, this machine {VERSION}; install the same version on both"
        )

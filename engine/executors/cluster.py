"""Cases on several machines: a station on each, found and reached by whatever knows the cluster."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from time import monotonic

from benchtui.engine.executor import ExecutorContext, Node
from benchtui.engine.executors.remote_node import FarCase, FarErrand, RemoteNode, Transport
from benchtui.engine.job import REPORT_S, Job
from benchtui.engine.node.protocol import Hello, Measure, Prepare
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.telemetry.nvml import open_nvml
from benchtui.engine.telemetry.sampler import Sampler
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Host

EVENTS_HZ = 20
"""Events of steps that all nodes together send in a second, so that what they cost the engine and those that
watch hardly grows with their number."""
MOST_REPORT_S = 2.0
"""Each sends one in so many seconds all the same: what is shown is no older."""
JOIN_S = 90.0
"""How long nodes may take to come up, all together: starting a process there is what takes most of it."""
_NAMED = 3
"""Nodes that are named one by one; of more their number is told."""


@dataclass(frozen=True, slots=True)
class Member:
    """A machine of a cluster before a station is there."""

    name: str
    """Unique."""
    kind: str
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)

    def node(self, station: RemoteNode, hello: Hello) -> Node:
        """The machine with what its station says of it."""
        return Node(
            self.name, hello.host, self.kind, self.labels, self.resources, hello.visible, station.offset_s
        )


class Cluster:
    """Holds a station on each member, and passes on to them what the engine wants."""

    def __init__(
        self, wires: Mapping[str, Transport], members: Iterable[Member], let_go: Callable[[], None]
    ) -> None:
        """Wait until every station has come up; ``let_go`` is called once they are done with.

        Raises:
            BenchtuiError: where one doesn't, or is of another version; nothing is left behind then.
        """
        self._let_go = let_go
        self._sampler: Sampler | None = None
        self._stations = {name: RemoteNode(name, wire) for name, wire in wires.items()}
        try:
            deadline_s = monotonic() + JOIN_S
            hellos = {name: station.greet(deadline_s) for name, station in self._stations.items()}
            _require_version({name: hello.version for name, hello in hellos.items()})
        except BenchtuiError:
            self.close()
            raise
        self.host = describe_host(open_nvml())
        """The machine of the engine."""
        self.nodes = tuple(member.node(self._stations[member.name], hellos[member.name]) for member in members)
        self.remarks = (*unlike({name: hello.host for name, hello in hellos.items()}), *_nice(hellos))

    def open(self, setting: ExecutorContext) -> None:
        """Let every station get ready, and read what the engine itself takes."""
        for station in self._stations.values():
            station.open(setting, report_s(len(self._stations)))
        self._sampler = Sampler(None, clock=lambda: round(monotonic() - setting.zero_s, 6), emit=setting.emit)
        self._sampler.start()

    def prepare(self) -> FarErrand:
        """Learn what the machines draw while idle, and what torch says of them, all at once."""
        for station in self._stations.values():
            station.ask(Prepare())
        return FarErrand(self._stations.values())

    def peaks(self, wanted: Mapping[str | None, Sequence[PeakKey]]) -> FarErrand:
        """Measure what devices do at most, on all nodes at once."""
        for name, keys in wanted.items():
            if name is not None and keys:
                self._stations[name].ask(Measure(peaks=tuple(keys)))
        return FarErrand(self._stations.values())

    def start(self, job: Job, node: str | None) -> FarCase:
        """Start a case; raises BenchtuiError where its node is gone."""
        if node is None:
            raise AssertionError("the nodes of a cluster have names")
        return self._stations[node].start(job)

    def close(self) -> None:
        """Let go of every station, and of the cluster."""
        for station in self._stations.values():
            station.close()
        if self._sampler:
            self._sampler.stop()
        self._let_go()


def report_s(nodes: int) -> float:
    """Seconds between two events of steps of a case, where so many nodes tell of theirs."""
    return min(MOST_REPORT_S, max(REPORT_S, nodes / EVENTS_HZ))


def named(hostnames: Iterable[str]) -> list[str]:
    """Unique names for machines: that of the host, from its second machine on with a number."""
    seen: dict[str, int] = {}
    names = []
    for hostname in hostnames:
        seen[hostname] = seen.get(hostname, 0) + 1
        names.append(hostname if seen[hostname] == 1 else f"{hostname}#{seen[hostname]}")
    return names


def unlike(hosts: Mapping[str, Host]) -> list[str]:
    """A line for each piece of software that isn't the same on all nodes."""
    facts = {name: _software(host) for name, host in hosts.items()}
    lines = []
    for what in dict.fromkeys(what for each in facts.values() for what in each):
        there: dict[str, list[str]] = {}
        for name, versions in facts.items():
            there.setdefault(versions.get(what) or "none", []).append(name)
        if len(there) > 1:
            said = ", ".join(f"{version} ({_names(names)})" for version, names in there.items())
            lines.append(f"nodes differ in {what}: {said}")
    return lines


def _software(host: Host) -> dict[str, str | None]:
    return {"Python": host.python, "GPU driver": host.driver, **host.packages}


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} nodes"


def _nice(hellos: Mapping[str, Hello]) -> list[str]:
    """A line for nodes on which other processes go first."""
    behind: dict[int, list[str]] = {}
    for name, hello in hellos.items():
        if hello.nice > 0:
            behind.setdefault(hello.nice, []).append(name)
    return [f"other processes go first on {_names(names)}: nice {nice}" for nice, names in behind.items()]


def _require_version(versions: Mapping[str, str]) -> None:
    here = metadata.version("benchtui")
    for name, version in versions.items():
        if version == here:
            continue
        raise BenchtuiError(f"node {name}: benchtui {version} there and {here} here; install the same on both")

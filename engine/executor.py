"""Executor protocol: nodes, preflight tasks before the first case, and cases as streams of events.

Supervisor, scheduler and journal use only this protocol and don't depend on where a case runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from benchtui.engine.event_loop import EventLoop
from benchtui.engine.job import Job, PreflightEvent, WorkerEvent
from benchtui.engine.node.protocol import OpenNode
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.events import NodeLost, Outcome, Telemetry
from benchtui.sessions.payloads import Host

RunnerEvent = Telemetry | NodeLost
"""Events that may occur at any time."""

NODE_LOST_PREFIX = "node lost: "
"""Prefix of the reason of a case whose node was lost."""


class Node(msgspec.Struct, frozen=True):
    """A machine on which cases run."""

    name: str | None
    """None for this machine. Unique in a cluster."""
    host: Host = Host()
    kind: str = ""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    resources: Mapping[str, float] = msgspec.field(default_factory=dict)
    visible: str | None = None
    """``CUDA_VISIBLE_DEVICES`` for measured processes on this node; None for all GPUs."""
    clock_offset_s: float = 0.0
    """Monotonic clock of the node minus that of this machine, in seconds."""

    def matches(self, machine: str) -> bool:
        """Return whether the option ``machine`` of a case matches this node."""
        name, equals, value = machine.partition("=")
        if equals and self.labels.get(name) == value:
            return True
        return machine in ("", self.name, self.kind) or machine in self.resources


class ExecutorContext(msgspec.Struct, frozen=True):
    """Settings and loop that an executor needs to run cases."""

    settings: OpenNode
    """Settings for a node on this machine."""
    loop: EventLoop
    emit: Callable[[RunnerEvent], None]
    """Receives events that may occur at any time. May be called from another thread and must not raise."""


class Running(Protocol):
    """Something whose results are collected while it runs. No method blocks."""

    @property
    def sources(self) -> Sequence[int]:
        """File descriptors that become readable when there is something to collect."""

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called even if no source is readable."""


class Execution(Running, Protocol):
    """A running case: its events and its outcome."""

    @property
    def pid(self) -> int | None:
        """Process id of the worker on this machine; None if it runs elsewhere."""

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """Yield new events. The last one is CaseFinished, once all processes of the case have ended."""

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the case. Its CaseFinished still has to be collected; an outcome reported earlier is kept."""


class PreflightTask(Running, Protocol):
    """A query about the nodes before the first case."""

    @property
    def ended(self) -> bool:
        """Whether all results have been collected."""

    def collect(self, now_s: float) -> Iterator[PreflightEvent]:
        """Yield the results since the last call."""

    def end(self) -> None:
        """Cancel the task."""


class Executor(Protocol):
    """Runner of cases, on this machine or on several."""

    @property
    def host(self) -> Host:
        """The engine's machine."""

    @property
    def nodes(self) -> Sequence[Node]:
        """Nodes that may run cases, as they were when they joined."""

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about the nodes for the reader of the session, one line each."""

    def open(self, context: ExecutorContext) -> None:
        """Start reading telemetry and get ready for cases."""

    def prepare(self) -> PreflightTask:
        """Read every node while it is idle, and query torch."""

    def measure_peaks(self, wanted: Mapping[str | None, Sequence[PeakKey]]) -> PreflightTask:
        """Measure device peaks (see ``roofline``) by node name, while no case is running."""

    def start(self, job: Job, node: str | None) -> Execution:
        """Start a case on a node; raise BenchtuiError if that fails."""

    def close(self) -> None:
        """Release all resources. May be called at any time. No event follows."""

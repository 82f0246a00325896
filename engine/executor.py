"""What an executor has to offer: nodes on which cases run, errands before the first one, cases as events.

Supervisor, course and journal know nothing else of where a case runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from benchtui.engine.event_loop import Loop
from benchtui.engine.job import Job
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.events import (
    CaseFinished,
    CasePrepared,
    Idle,
    Message,
    NodeLost,
    Outcome,
    Peaks,
    Runtime,
    Steps,
    Telemetry,
)
from benchtui.sessions.payloads import Host

WorkerEvent = CasePrepared | Steps | CaseFinished
"""What is told of a case on its way."""
ErrandEvent = Idle | Runtime | Peaks | Message
"""What is told of a machine before the first case."""
RunnerEvent = Telemetry | NodeLost
"""What is told at any time."""

NODE_LOST = "node lost: "
"""Begins the reason of a case whose node was lost."""


@dataclass(frozen=True, slots=True)
class Node:
    """A machine on which cases run."""

    name: str | None
    """None for this machine."""
    host: Host
    kind: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    visible: str | None = None
    """Which of its GPUs measured processes may use there, as ``CUDA_VISIBLE_DEVICES`` says; None for all."""
    clock_offset_s: float = 0.0
    """Its monotonic clock less this machine's."""

    def answers(self, machine: str) -> bool:
        """Whether it is meant by the option ``machine`` of a case."""
        name, equals, value = machine.partition("=")
        if equals and self.labels.get(name) == value:
            return True
        return machine in ("", self.name, self.kind) or machine in self.resources


@dataclass(frozen=True, slots=True)
class ExecutorContext:
    """What an executor has to know of the session that it runs cases for."""

    zero_s: float
    """Monotonic clock at the session's start."""
    env: Mapping[str, str]
    """Environment variables of the measured processes."""
    dataset: str
    """What the texts of the cases are read from."""
    loop: Loop
    emit: Callable[[RunnerEvent], None]
    """Takes what is told at any time; may be called from another thread, and must not raise."""


class Execution(Protocol):
    """One case on its way: its events and its end. Nothing here ever waits."""

    @property
    def pid(self) -> int | None:
        """The worker's process on this machine; None where it runs elsewhere."""
        ...

    @property
    def sources(self) -> Sequence[int]:
        """File descriptors that become readable when there is something to collect."""
        ...

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` has to be called even if nothing becomes readable."""
        ...

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """The events that have come; the last one of a case is its CaseFinished, when all of it is gone."""
        ...

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the case; its CaseFinished is still to be collected. An outcome told before stays."""
        ...


class PreflightTask(Protocol):
    """Something to be learned of the nodes before the first case. Nothing here ever waits."""

    @property
    def sources(self) -> Sequence[int]:
        """File descriptors that become readable when there is something to collect."""
        ...

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` has to be called even if nothing becomes readable."""
        ...

    @property
    def ended(self) -> bool:
        """Whether all has been collected."""
        ...

    def collect(self, now_s: float) -> Iterator[ErrandEvent]:
        """What has been learned since the last call."""
        ...

    def end(self) -> None:
        """Give it up."""
        ...


class Executor(Protocol):
    """Where cases run."""

    @property
    def host(self) -> Host:
        """The machine of the engine."""
        ...

    @property
    def nodes(self) -> Sequence[Node]:
        """The machines on which cases may run, as they were when they joined."""
        ...

    @property
    def remarks(self) -> Sequence[str]:
        """What a reader must know of them, a line each."""
        ...

    def open(self, setting: ExecutorContext) -> None:
        """Begin to read the machines, and get ready for cases."""
        ...

    def prepare(self) -> PreflightTask:
        """Learn what the machines draw while idle, and what torch says of them."""
        ...

    def peaks(self, wanted: Mapping[str | None, Sequence[PeakKey]]) -> PreflightTask:
        """Measure what devices do at most, while no case runs; by the node's name."""
        ...

    def start(self, job: Job, node: str | None) -> Execution:
        """Start a case on a node; raises BenchtuiError where that can't be done."""
        ...

    def close(self) -> None:
        """Let go of everything, at any time; no event follows."""
        ...

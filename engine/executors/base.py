"""What an executor has to offer: one case on its way, and what torch says where cases run."""

from collections.abc import Iterator
from typing import Protocol

from benchtui.engine.job import Job
from benchtui.sessions.events import CaseFinished, CasePrepared, Outcome, Peaks, Runtime, Steps
from benchtui.sessions.limits import PeakKey

WorkerEvent = CasePrepared | Steps | CaseFinished
"""What a worker sends."""


class Execution(Protocol):
    """One case on its way: its events and its end. Nothing here ever waits."""

    @property
    def pid(self) -> int | None:
        """The worker's process on this machine; None where it runs elsewhere."""
        ...

    @property
    def sources(self) -> list[int]:
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


class Probe(Protocol):
    """The question to torch what the place where cases run is like."""

    @property
    def source(self) -> int:
        """A file descriptor that becomes readable when there is an answer, or none to come."""
        ...

    @property
    def ended(self) -> bool:
        """Whether an answer has come, or none will."""
        ...

    def result(self, now_s: float) -> Runtime | str:
        """What torch said, or why it said nothing."""
        ...


class PeakProbe(Protocol):
    """The question what a device does at most."""

    @property
    def source(self) -> int:
        """A file descriptor that becomes readable when there is an answer, or none to come."""
        ...

    @property
    def ended(self) -> bool:
        """Whether an answer has come, or none will."""
        ...

    def result(self) -> Peaks | str:
        """What was measured, or why nothing was; ends the measuring."""
        ...


class Executor(Protocol):
    """Where cases run."""

    def probe(self) -> Probe:
        """Ask torch."""
        ...

    def start(self, job: Job) -> Execution:
        """Start a case; raises BenchtuiError where that can't be done."""
        ...

    def peaks(self, key: PeakKey) -> PeakProbe:
        """Measure what a device does at most, while no case runs."""
        ...

"""Remote node: the engine's side of a node agent on another machine."""

import os
import selectors
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import FileIO
from time import monotonic
from typing import Protocol

import msgspec
from msgspec.structs import replace

from benchtui.engine.executor import NODE_LOST_PREFIX, ExecutorContext, PreflightEvent, WorkerEvent
from benchtui.engine.job import Job
from benchtui.engine.line_protocol import Lines
from benchtui.engine.node.protocol import (
    End,
    Hello,
    NodeCommand,
    NodeEvent,
    OpenNode,
    Ping,
    Pong,
    Start,
    TaskDone,
    event_decoder,
)
from benchtui.sessions.errors import BenchtuiError
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

SILENT_S = 60.0
"""Seconds without a message after which a node is lost. Telemetry arrives at least every two seconds."""
PINGS = 5
_MOST_CHUNKS = 64


class Transport(Protocol):
    """Connection to a node agent."""

    @property
    def incoming(self) -> FileIO:
        """Output of the node agent. End of file means that the agent has ended."""
        ...

    def send(self, message: bytes) -> None:
        """Send a message without blocking; raise OSError if the agent is gone."""
        ...

    def why(self) -> str:
        """Return why the node agent has ended, once it has."""
        ...

    def close(self) -> None:
        """Close the connection. The node agent ends, with everything that runs on it."""
        ...


class RemoteNode:
    """A node on another machine, commanded over a transport."""

    def __init__(self, name: str, wire: Transport) -> None:
        self.name = name
        self.lost: str | None = None
        """Why the node is lost; None while it is connected."""
        self.offset_s = 0.0
        """Monotonic clock of the node minus that of the engine, in seconds."""
        self._wire = wire
        self._lines = Lines(wire.incoming)
        self._said: deque[NodeEvent] = deque()
        """Messages received before the event loop serves the connection."""
        self._heard_s = monotonic()
        self._setting: ExecutorContext | None = None
        self._listening: int | None = None
        """File descriptor of the connection while the event loop serves it."""
        self._cases: dict[int, RemoteCase] = {}
        self.learned: deque[PreflightEvent] = deque()
        """Results of the current preflight task."""
        self.busy = False
        """Whether a preflight task is running."""

    def greet(self, deadline_s: float) -> Hello:
        """Wait for the node agent's first message until a monotonic time, then compare clocks.

        Raises:
            BenchtuiError: if the agent doesn't start.
        """
        hello = self._next(deadline_s)
        if not isinstance(hello, Hello):
            raise BenchtuiError(f"node {self.name}: unexpected reply; it isn't a node agent")
        rounds_s = [self._ping(deadline_s) for _ in range(PINGS)]
        _, self.offset_s = min(rounds_s)
        return hello

    def open(self, setting: ExecutorContext, report_s: float) -> None:
        """Prepare the node for cases and start listening.

        ``report_s`` is the minimum time between two of its step or telemetry events, in seconds.
        """
        self._setting = setting
        self._heard_s = monotonic()
        self._listening = self._wire.incoming.fileno()
        setting.loop.selector.register(self._listening, selectors.EVENT_READ, self._read)
        zero_s = setting.zero_s + self.offset_s
        self.say(
            OpenNode(
                zero_s=zero_s,
                env=dict(setting.env),
                dataset=setting.dataset,
                node=self.name,
                folder=os.getcwd(),
                report_s=report_s,
            )
        )

    def say(self, order: NodeCommand) -> None:
        """Send a command. Nothing is sent to a lost node."""
        if self.lost is None:
            with suppress(OSError):  # the end of the connection is detected when reading
                self._wire.send(msgspec.json.encode(order))

    def ask(self, order: NodeCommand) -> None:
        """Start a preflight task."""
        self.busy = self.lost is None
        self.say(order)

    def start(self, job: Job) -> "RemoteCase":
        """Start a case; raise BenchtuiError if the node is lost."""
        if self.lost is not None:
            raise BenchtuiError(f"{NODE_LOST_PREFIX}{self.lost}")
        case = self._cases[job.case] = RemoteCase(job.case, self)
        self.say(Start(job=job))
        return case

    @property
    def left_s(self) -> float:
        """Seconds until the node has been silent for too long."""
        return max(0.0, self._heard_s + SILENT_S - monotonic())

    def heed(self) -> None:
        """Mark the node as lost if it has been silent for too long."""
        if not self.left_s:
            self.lose(f"no message for {SILENT_S:g} s")

    def lose(self, reason: str) -> None:
        """Mark the node as lost and end its cases."""
        if self.lost is not None or self._setting is None:
            return
        self.lost = reason
        self.close()
        now_s = self._now_s()
        self._setting.emit(NodeLost(t=now_s, node=self.name, reason=reason))
        for index in list(self._cases):
            self._end_of(
                CaseFinished(t=now_s, case=index, outcome="failed", reason=f"{NODE_LOST_PREFIX}{reason}")
            )
        self.busy = False

    def close(self) -> None:
        """Close the connection."""
        if self._setting and self._listening is not None:
            self._setting.loop.selector.unregister(self._listening)
            self._listening = None
        self._wire.close()

    def _next(self, deadline_s: float) -> NodeEvent:
        """Return the next message, waiting for it."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._wire.incoming, selectors.EVENT_READ)
            while not self._said:
                ready = selector.select(max(0.0, deadline_s - monotonic()))
                if not ready:
                    raise BenchtuiError(f"node {self.name}: the node agent didn't start in time")
                self._said.extend(self._messages())
                if self._lines.closed:
                    raise BenchtuiError(f"node {self.name}: {self._wire.why()}")
        return self._said.popleft()

    def _ping(self, deadline_s: float) -> tuple[float, float]:
        """Return the round-trip time and the clock offset of the node, in seconds."""
        asked_s = monotonic()
        self.say(Ping(at_s=asked_s))
        pong = self._next(deadline_s)
        answered_s = monotonic()
        if not isinstance(pong, Pong):
            raise BenchtuiError(f"node {self.name}: unexpected reply; it isn't a node agent")
        return answered_s - asked_s, pong.here_s - (asked_s + answered_s) / 2

    def _messages(self) -> list[NodeEvent]:
        """Return the received messages; raise BenchtuiError for invalid ones."""
        try:
            return [event_decoder.decode(message) for message in self._lines.read(_MOST_CHUNKS)]
        except (BenchtuiError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BenchtuiError(f"node {self.name} sent an invalid message: {error}") from error

    def _read(self) -> None:
        self._heard_s = monotonic()
        try:
            for report in self._messages():
                self._take(report)
        except BenchtuiError as error:
            self.lose(str(error))
        if self._lines.closed:
            self.lose(self._wire.why())

    def _take(self, report: NodeEvent) -> None:
        match report:
            case Telemetry():
                if self._setting:
                    self._setting.emit(replace(report, t=self._now_s()))
            case CaseFinished():
                self._end_of(report)
            case CasePrepared() | Steps():
                if case := self._cases.get(report.case):
                    case.arrived.append(report)
            case Message():
                self.learned.append(replace(report, text=f"{self.name}: {report.text}"))
            case Idle() | Runtime() | Peaks():
                self.learned.append(report)
            case TaskDone():
                self.busy = False

    def _end_of(self, event: CaseFinished) -> None:
        if case := self._cases.pop(event.case, None):
            case.arrived.append(event)

    def _now_s(self) -> float:
        zero_s = self._setting.zero_s if self._setting else 0.0
        return round(monotonic() - zero_s, 6)


class RemoteCase:
    """A case on another machine."""

    pid = None
    sources = ()
    """Empty: the event loop serves the connection itself."""

    def __init__(self, case: int, station: RemoteNode) -> None:
        self.arrived: deque[WorkerEvent] = deque()
        self._case = case
        self._station = station

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called."""
        return self._station.left_s

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """Yield new events, stamped with their time of arrival because the node's clock differs."""
        self._station.heed()
        while self.arrived:
            yield replace(self.arrived.popleft(), t=now_s)

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Request the node to kill the case."""
        self._station.say(End(case=self._case, outcome=outcome, reason=reason))


class RemotePreflightTask:
    """The same preflight task on several nodes at once."""

    sources = ()

    def __init__(self, stations: Iterable[RemoteNode]) -> None:
        self._stations = list(stations)

    @property
    def ended(self) -> bool:
        """Whether all nodes are done and their results collected."""
        return not any(station.busy or station.learned for station in self._stations)

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called."""
        return min((station.left_s for station in self._stations if station.busy), default=0.0)

    def collect(self, now_s: float) -> Iterator[PreflightEvent]:
        """Yield the results since the last call."""
        for station in self._stations:
            if station.busy:
                station.heed()
            while station.learned:
                yield replace(station.learned.popleft(), t=now_s)

    def end(self) -> None:
        """Stop waiting and discard the results."""
        for station in self._stations:
            station.busy = False
            station.learned.clear()

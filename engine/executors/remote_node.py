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

from benchtui.engine.executor import NODE_LOST_PREFIX, ExecutorContext
from benchtui.engine.job import Job, PreflightEvent, WorkerEvent
from benchtui.engine.line_protocol import Lines
from benchtui.engine.node.protocol import (
    End,
    Hello,
    NodeCommand,
    NodeEvent,
    Ping,
    Pong,
    Start,
    TaskDone,
    event_decoder,
)
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, Message, NodeLost, Outcome, Telemetry

SILENCE_LIMIT_S = 60.0
"""Seconds without a message after which a node is lost. Telemetry arrives at least every two seconds."""
PINGS = 5
_MAX_CHUNKS = 64


class Transport(Protocol):
    """Connection to a node agent."""

    @property
    def incoming(self) -> FileIO:
        """Output of the node agent. End of file means that the agent has ended."""

    def send(self, message: bytes) -> None:
        """Send a message without blocking; raise OSError if the agent has exited."""

    def why(self) -> str:
        """Return why the node agent ended. Valid only after it has ended."""

    def close(self) -> None:
        """Close the connection, which ends the node agent and all its processes."""


class RemoteNode:
    """A node on another machine, commanded over a transport."""

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self.lost: str | None = None
        """Why the node is lost; None while it is connected."""
        self.offset_s = 0.0
        """Monotonic clock of the node minus that of the engine, in seconds."""
        self._transport = transport
        self._lines = Lines(transport.incoming)
        self._received: deque[NodeEvent] = deque()
        """Messages received before the event loop serves the connection."""
        self._last_message_s = monotonic()
        self._context: ExecutorContext | None = None
        self._watched_fd: int | None = None
        """File descriptor of the connection while the event loop serves it."""
        self._cases: dict[int, RemoteCase] = {}
        self.results: deque[PreflightEvent] = deque()
        """Results of the current preflight task."""
        self.busy = False
        """Whether a preflight task is running."""

    def handshake(self, deadline_s: float) -> Hello:
        """Wait for the node agent's first message until a monotonic time, then compare clocks.

        Raises BenchtuiError if the agent doesn't start.
        """
        hello = self._next_event(deadline_s)
        if not isinstance(hello, Hello):
            raise BenchtuiError(f"node {self.name}: unexpected reply; it isn't a node agent")
        round_trips = [self._ping(deadline_s) for _ in range(PINGS)]
        _, self.offset_s = min(round_trips)
        return hello

    def open(self, context: ExecutorContext, report_s: float) -> None:
        """Prepare the node for cases and start listening.

        ``report_s`` is the minimum time between two of its step or telemetry events, in seconds.
        """
        self._context = context
        self._last_message_s = monotonic()
        self._watched_fd = self._transport.incoming.fileno()
        context.loop.selector.register(self._watched_fd, selectors.EVENT_READ, self._read)
        zero_s = context.settings.zero_s + self.offset_s
        settings = replace(context.settings, zero_s=zero_s, report_s=report_s)
        self.send(replace(settings, node=self.name, folder=os.getcwd()))

    def send(self, command: NodeCommand) -> None:
        """Send a command. Nothing is sent to a lost node."""
        if self.lost is None:
            with suppress(OSError):  # the end of the connection is detected when reading
                self._transport.send(msgspec.json.encode(command))

    def start_task(self, command: NodeCommand) -> None:
        """Start a preflight task."""
        self.busy = self.lost is None
        self.send(command)

    def start(self, job: Job) -> "RemoteCase":
        """Start a case; raise BenchtuiError if the node is lost."""
        if self.lost is not None:
            raise BenchtuiError(f"{NODE_LOST_PREFIX}{self.lost}")
        case = self._cases[job.case] = RemoteCase(job.case, self)
        self.send(Start(job=job))
        return case

    @property
    def left_s(self) -> float:
        """Seconds until the node has been silent for too long."""
        return max(0.0, self._last_message_s + SILENCE_LIMIT_S - monotonic())

    def check_timeout(self) -> None:
        """Mark the node as lost if it has been silent for too long."""
        if not self.left_s:
            self.mark_lost(f"no message for {SILENCE_LIMIT_S:g} s")

    def mark_lost(self, reason: str) -> None:
        """Mark the node as lost and end its cases."""
        if self.lost is not None or self._context is None:
            return
        self.lost = reason
        self.close()
        now_s = self._now_s()
        self._context.emit(NodeLost(t=now_s, node=self.name, reason=reason))
        for index in list(self._cases):
            self._finish_case(
                CaseFinished(t=now_s, case=index, outcome="failed", reason=f"{NODE_LOST_PREFIX}{reason}")
            )
        self.busy = False

    def close(self) -> None:
        """Close the connection."""
        if self._context and self._watched_fd is not None:
            self._context.loop.selector.unregister(self._watched_fd)
            self._watched_fd = None
        self._transport.close()

    def _next_event(self, deadline_s: float) -> NodeEvent:
        with selectors.DefaultSelector() as selector:
            selector.register(self._transport.incoming, selectors.EVENT_READ)
            while not self._received:
                ready = selector.select(max(0.0, deadline_s - monotonic()))
                if not ready:
                    raise BenchtuiError(f"node {self.name}: the node agent didn't start in time")
                self._received.extend(self._read_messages())
                if self._lines.closed:
                    raise BenchtuiError(f"node {self.name}: {self._transport.why()}")
        return self._received.popleft()

    def _ping(self, deadline_s: float) -> tuple[float, float]:
        """Return the round-trip time and the clock offset of the node, in seconds."""
        sent_s = monotonic()
        self.send(Ping(at_s=sent_s))
        pong = self._next_event(deadline_s)
        received_s = monotonic()
        if not isinstance(pong, Pong):
            raise BenchtuiError(f"node {self.name}: unexpected reply; it isn't a node agent")
        return received_s - sent_s, pong.here_s - (sent_s + received_s) / 2

    def _read_messages(self) -> list[NodeEvent]:
        try:
            return [event_decoder.decode(message) for message in self._lines.read(_MAX_CHUNKS)]
        except (BenchtuiError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BenchtuiError(f"node {self.name} sent an invalid message: {error}") from error

    def _read(self) -> None:
        self._last_message_s = monotonic()
        try:
            for event in self._read_messages():
                self._handle(event)
        except BenchtuiError as error:
            self.mark_lost(str(error))
        if self._lines.closed:
            self.mark_lost(self._transport.why())

    def _handle(self, event: NodeEvent) -> None:
        match event:
            case Telemetry():
                if self._context:
                    self._context.emit(replace(event, t=self._now_s()))
            case CaseFinished():
                self._finish_case(event)
            case Message():
                self.results.append(replace(event, text=f"{self.name}: {event.text}"))
            case TaskDone():
                self.busy = False
            case _ if isinstance(event, PreflightEvent):
                self.results.append(event)
            case _ if isinstance(event, WorkerEvent) and event.case in self._cases:
                self._cases[event.case].events.append(event)

    def _finish_case(self, event: CaseFinished) -> None:
        if case := self._cases.pop(event.case, None):
            case.events.append(event)

    def _now_s(self) -> float:
        zero_s = self._context.settings.zero_s if self._context else 0.0
        return round(monotonic() - zero_s, 6)


class RemoteCase:
    """A case on another machine."""

    pid = None
    sources = ()
    """Empty: the event loop serves the connection itself."""

    def __init__(self, case: int, node: RemoteNode) -> None:
        self.events: deque[WorkerEvent] = deque()
        self._case = case
        self._node = node

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called."""
        return self._node.left_s

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """Yield new events, stamped with their time of arrival because the node's clock differs."""
        self._node.check_timeout()
        while self.events:
            yield replace(self.events.popleft(), t=now_s)

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Ask the node to kill the case."""
        self._node.send(End(case=self._case, outcome=outcome, reason=reason))


class RemotePreflightTask:
    """The same preflight task on several nodes at once."""

    sources = ()

    def __init__(self, nodes: Iterable[RemoteNode]) -> None:
        self._nodes = list(nodes)

    @property
    def ended(self) -> bool:
        """Whether all nodes are done and their results collected."""
        return not any(node.busy or node.results for node in self._nodes)

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called."""
        return min((node.left_s for node in self._nodes if node.busy), default=0.0)

    def collect(self, now_s: float) -> Iterator[PreflightEvent]:
        """Yield the results since the last call."""
        for node in self._nodes:
            if node.busy:
                node.check_timeout()
            while node.results:
                yield replace(node.results.popleft(), t=now_s)

    def end(self) -> None:
        """Stop waiting and discard the results."""
        for node in self._nodes:
            node.busy = False
            node.results.clear()

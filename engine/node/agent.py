"""Node agent: reads commands from standard input and writes events to standard output.

``python -m benchtui.engine --station`` runs it on other machines; it exits when its input ends. Whatever the
transport, cases run as they do locally: each in a fresh process, forked by this process's fork server.
"""

import os
import selectors
import threading
from contextlib import suppress
from importlib import metadata
from io import FileIO
from pathlib import Path
from time import monotonic

import msgspec

from benchtui.engine.event_loop import EventLoop
from benchtui.engine.executor import PreflightTask
from benchtui.engine.line_protocol import Lines, send
from benchtui.engine.node.case_execution import CaseRun
from benchtui.engine.node.protocol import (
    End,
    Hello,
    Measure,
    NodeCommand,
    NodeEvent,
    OpenNode,
    Ping,
    Pong,
    Prepare,
    Start,
    TaskDone,
    command_decoder,
)
from benchtui.engine.node.runner import NodeRunner, NodeSettings
from benchtui.engine.telemetry.visible_gpus import visible_devices_setting
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished

_MOST_CHUNKS = 16


def serve(station: NodeRunner) -> int:
    """Run the agent until standard input ends. Return the exit status."""
    incoming, outgoing = _taken(0, os.O_RDONLY), _taken(1, os.O_WRONLY)
    os.dup2(2, 1)  # what libraries print must not mix with the messages
    NodeAgent(station, incoming, outgoing).serve()
    return 0


def _taken(standard: int, flags: int) -> FileIO:
    """Take over a standard descriptor and leave ``/dev/null`` in its place."""
    own = FileIO(os.dup(standard), "rb" if flags == os.O_RDONLY else "wb")
    null = os.open(os.devnull, flags)
    os.dup2(null, standard)
    os.close(null)
    return own


class NodeAgent:
    """Event loop that executes the engine's commands."""

    def __init__(self, station: NodeRunner, incoming: FileIO, outgoing: FileIO) -> None:
        self._station = station
        self._lines = Lines(incoming)
        self._incoming = incoming
        self._outgoing = outgoing
        self._saying = threading.Lock()
        self._loop = EventLoop()
        self._runs: dict[int, CaseRun] = {}
        self._errand: PreflightTask | None = None

    def serve(self) -> None:
        """Execute commands until the input ends, then kill the cases still running."""
        self._say(
            Hello(
                version=metadata.version("benchtui"),
                host=self._station.host,
                visible=visible_devices_setting(),
                nice=os.getpriority(os.PRIO_PROCESS, 0),
            )
        )
        self._loop.selector.register(self._incoming.fileno(), selectors.EVENT_READ, self._read)
        try:
            while not self._lines.closed:
                self._collect()
                waiting: list[CaseRun | PreflightTask] = list(self._runs.values())
                waiting += [self._errand] if self._errand else []
                sources = [source for each in waiting for source in each.sources]
                self._loop.wait(sources, min((each.left_s for each in waiting), default=None))
        finally:
            for run in self._runs.values():
                run.end("interrupted", "the engine disconnected", self._station.now_s())
            if self._errand:
                self._errand.end()
            self._station.close()

    def _read(self) -> None:
        descriptor = self._incoming.fileno()
        messages = self._lines.read(_MOST_CHUNKS)
        if self._lines.closed:
            self._loop.selector.unregister(descriptor)
        for message in messages:
            self._obey(command_decoder.decode(message))

    def _obey(self, order: NodeCommand) -> None:
        match order:
            case Ping():
                self._say(Pong(at_s=order.at_s, here_s=monotonic()))
            case OpenNode():
                self._open(order)
            case Prepare():
                self._errand = self._station.prepare()
            case Measure():
                self._errand = self._station.peaks(order.peaks)
            case Start():
                self._start(order)
            case End() if order.case in self._runs:
                self._runs[order.case].end(order.outcome, order.reason, self._station.now_s())

    def _open(self, order: OpenNode) -> None:
        if Path(order.folder).is_dir():
            os.chdir(order.folder)
        settings = NodeSettings(order.zero_s, order.env, order.dataset, order.node, order.report_s)
        self._station.open(settings, self._say)

    def _start(self, order: Start) -> None:
        index = order.job.case
        try:
            self._runs[index] = self._station.start(order.job)
        except BenchtuiError as error:
            now_s = self._station.now_s()
            self._say(CaseFinished(t=now_s, case=index, outcome="failed", reason=str(error)))

    def _collect(self) -> None:
        now_s = self._station.now_s()
        for index, run in list(self._runs.items()):
            for event in run.collect(now_s):
                self._say(event)
                if isinstance(event, CaseFinished):
                    del self._runs[index]
        if self._errand:
            for told in self._errand.collect(now_s):
                self._say(told)
            if self._errand.ended:
                self._errand = None
                self._say(TaskDone())

    def _say(self, report: NodeEvent) -> None:
        with suppress(OSError), self._saying:  # if the reader is gone, the input has ended too
            send(self._outgoing, msgspec.json.encode(report))

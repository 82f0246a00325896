"""Node agent: reads commands from standard input and writes events to standard output.

``python -m benchtui.engine --station`` runs it on other machines; it exits when its input ends. Whatever the
transport, cases run as they do locally: each in a fresh process, forked by this process's fork server.
"""

import os
import selectors
import threading
from contextlib import suppress
from io import FileIO
from pathlib import Path
from time import monotonic

import msgspec

from benchtui.engine.event_loop import EventLoop
from benchtui.engine.executor import Execution, ExecutorContext, PreflightTask, RunnerEvent
from benchtui.engine.line_protocol import Lines, send
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
from benchtui.engine.node.runner import NodeRunner
from benchtui.engine.telemetry.gpu.cuda_presence import visible_devices_setting
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished
from benchtui.sessions.version import VERSION

_MAX_CHUNKS = 16


def serve(runner: NodeRunner) -> int:
    """Run the agent until standard input ends. Return the exit status."""
    incoming, outgoing = _detach_descriptor(0, os.O_RDONLY), _detach_descriptor(1, os.O_WRONLY)
    os.dup2(2, 1)  # keep the output of libraries out of the messages
    NodeAgent(runner, incoming, outgoing).serve()
    return 0


def _detach_descriptor(standard: int, flags: int) -> FileIO:
    """Duplicate a standard descriptor, and replace the original with ``/dev/null``."""
    detached = FileIO(os.dup(standard), "rb" if flags == os.O_RDONLY else "wb")
    null = os.open(os.devnull, flags)
    os.dup2(null, standard)
    os.close(null)
    return detached


class NodeAgent:
    """Event loop that executes the engine's commands."""

    def __init__(self, runner: NodeRunner, incoming: FileIO, outgoing: FileIO) -> None:
        self._runner = runner
        self._lines = Lines(incoming)
        self._incoming = incoming
        self._outgoing = outgoing
        self._send_lock = threading.Lock()
        self._loop = EventLoop()
        self._runs: dict[int, Execution] = {}
        self._task: PreflightTask | None = None

    def serve(self) -> None:
        """Execute commands until the input ends, then kill the cases still running."""
        self._send(
            Hello(
                version=VERSION,
                host=self._runner.host,
                visible=visible_devices_setting(),
                nice=os.getpriority(os.PRIO_PROCESS, 0),
            )
        )
        self._loop.selector.register(self._incoming.fileno(), selectors.EVENT_READ, self._read)
        try:
            while not self._lines.closed:
                self._collect()
                waiting: list[Execution | PreflightTask] = list(self._runs.values())
                waiting += [self._task] if self._task else []
                sources = [source for wait in waiting for source in wait.sources]
                self._loop.wait(sources, min((wait.left_s for wait in waiting), default=None))
        finally:
            for run in self._runs.values():
                run.end("interrupted", "the engine disconnected", self._runner.now_s())
            if self._task:
                self._task.end()
            self._runner.close()

    def _read(self) -> None:
        descriptor = self._incoming.fileno()
        messages = self._lines.read(_MAX_CHUNKS)
        if self._lines.closed:
            self._loop.selector.unregister(descriptor)
        for message in messages:
            self._execute(command_decoder.decode(message))

    def _execute(self, command: NodeCommand) -> None:
        match command:
            case Ping():
                self._send(Pong(at_s=command.at_s, here_s=monotonic()))
            case OpenNode():
                if Path(command.folder).is_dir():
                    os.chdir(command.folder)
                self._runner.open(ExecutorContext(command, self._loop, self._send))
            case Prepare():
                self._task = self._runner.prepare()
            case Measure():
                self._task = self._runner.measure_peaks({None: command.peaks})
            case Start():
                self._start(command)
            case End() if command.case in self._runs:
                self._runs[command.case].end(command.outcome, command.reason, self._runner.now_s())

    def _start(self, command: Start) -> None:
        index = command.job.case
        try:
            self._runs[index] = self._runner.start(command.job)
        except BenchtuiError as error:
            now_s = self._runner.now_s()
            self._send(CaseFinished(t=now_s, case=index, outcome="failed", reason=str(error)))

    def _collect(self) -> None:
        now_s = self._runner.now_s()
        for index, run in list(self._runs.items()):
            for event in run.collect(now_s):
                self._send(event)
                if isinstance(event, CaseFinished):
                    del self._runs[index]
        if self._task:
            for result in self._task.collect(now_s):
                self._send(result)
            if self._task.ended:
                self._task = None
                self._send(TaskDone())

    def _send(self, event: NodeEvent | RunnerEvent) -> None:
        with suppress(OSError), self._send_lock:  # if the reader has closed the pipe, the input has ended too
            send(self._outgoing, msgspec.json.encode(event))

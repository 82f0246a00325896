"""An engine with light cases: supervisor, journal, fork server, pipes and signals are real, torch is left out.

``python tests/bench/faults/light.py PATH ID < sweep.json`` comes up in a third of a second, so that it can be
started and killed many times. A step sleeps for 2 ms, and its end is noted in PATH.steps as case, monotonic
clock. The sweep's name says how cases behave: ``hang`` stops in C code with the interpreter locked, ``brief``
has no step, ``linger`` stays for a while after it has told its end, as a case does whose step is looked at. Of
others the first case alone misbehaves: ``orphan WAY`` leaves a process in a session of its own, noted in
PATH.orphans, and dies in that way; ``stop server`` stops the fork server and hangs, ``stop server briefly``
goes on.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import psutil

from benchtui.engine import __main__ as engine_main
from benchtui.engine.control import ResumeOptions, StartOptions
from benchtui.engine.executor import Node
from benchtui.engine.executors import remote_node
from benchtui.engine.executors.cluster import ClusterExecutor
from benchtui.engine.executors.stdio_relay import AgentProcess, PullTransport
from benchtui.engine.job import Job
from benchtui.engine.line_protocol import send
from benchtui.engine.node import worker_processes
from benchtui.engine.node.runner import NodeRunner
from benchtui.engine.worker import isolation
from benchtui.engine.worker.turns import Pipes
from benchtui.sessions import timestamps
from benchtui.sessions.events import AnyEvent, CaseFinished, CasePrepared, Phase, Runtime, Steps
from benchtui.sessions.payloads import Model
from benchtui.sessions.sweep import Axes, Measure, Sweep
from benchtui.sessions.sweep_secrets import to_send

STEP_S = 0.002
LINGER_S = 1.3
NOTES = "BENCHTUI_TEST_NOTES"
ROOM = "BENCHTUI_TEST_ROOM"
"""Bytes that a file of the engine may have."""
CLOCK = "BENCHTUI_TEST_CLOCK"
"""Set to ``back``, the wall clock runs backwards by a day a call."""
KINDS = "BENCHTUI_TEST_KINDS"
"""Kinds of the nodes of a played cluster, joined by commas; each node is a station of its own process."""
SILENT = "BENCHTUI_TEST_SILENT"
"""Seconds after which a station that is silent is lost."""


def sweep(cases: int = 3, steps: int = 100, name: str = "light", device: str = "cpu") -> Sweep:
    """A sweep of light cases of so many steps."""
    axes = Axes(device=(device,), batch_size=tuple(range(1, cases + 1)))
    return Sweep(name=name, model="none", axes=axes, measure=Measure(warmup=0, iterations=steps, peaks=False))


def launch(
    path: Path,
    wanted: Sweep | ResumeOptions,
    environment: Mapping[str, str] | None = None,
    session_id: str | None = None,
    stdout: int = subprocess.DEVNULL,
    *,
    numbered: bool = False,
) -> subprocess.Popen[bytes]:
    """Start the engine on a sweep, or on what is left of a session; doesn't wait for it to come up.

    Its errors go where the client looks for them.
    """
    session_id = session_id or uuid.uuid4().hex[:12]
    runtime = Path(os.environ["BENCHTUI_RUNTIME_DIR"])
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    request = StartOptions(sweep=to_send(wanted)) if isinstance(wanted, Sweep) else wanted
    options = ["--resume"] * isinstance(wanted, ResumeOptions) + ["--numbered"] * numbered
    with (runtime / f"{session_id}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, "--id", session_id, *options, str(path)],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=log,
            env=os.environ | {NOTES: f"{path}.steps"} | (environment or {}),
            start_new_session=True,
        )
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(msgspec.json.encode(request))
    return process


class _Case:
    def __init__(self, job: Job, events: Connection) -> None:
        self._job = job
        self._events = events
        self._notes = os.open(os.environ[NOTES], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._times_ms: list[float] = []
        self._flushed_s = time.monotonic()

    def run(self) -> None:
        """Prepare, measure and end."""
        job = self._job
        uuid = None if job.config.device == "cpu" else "GPU-00000000-0000-0000-0000-000000000000"
        self._emit(CasePrepared(t=self._now_s(), case=job.case, model=Model(name="none"), gpu_uuid=uuid))
        begin_s = self._now_s()
        for _ in range(0 if job.sweep.name == "brief" else job.sweep.measure.iterations):
            self._step()
        end_s = self._now_s()
        self._flush()
        self._emit(CaseFinished(t=self._now_s(), case=job.case, outcome="ok", measured_s=(begin_s, end_s)))
        if job.sweep.name == "linger":
            time.sleep(LINGER_S)

    def _step(self) -> None:
        began_s = time.monotonic()
        name = self._job.sweep.name
        if name.startswith("stop server") and self._job.case == 0:
            os.kill(os.getppid(), signal.SIGSTOP)
        if name == "hang" or (name == "stop server" and self._job.case == 0):
            ctypes.PyDLL(None).pause()
        if name.startswith("orphan ") and self._job.case == 0:
            _leave_an_orphan(name.removeprefix("orphan "))
        time.sleep(STEP_S)
        ended_s = time.monotonic()
        os.write(self._notes, f"{self._job.case} {ended_s}\n".encode())
        self._times_ms.append(1000 * (ended_s - began_s))
        if time.monotonic() - self._flushed_s >= self._job.report_s:
            self._flush()

    def _flush(self) -> None:
        phase: Phase = "measure"
        if self._times_ms:
            self._emit(
                Steps(
                    t=self._now_s(),
                    case=self._job.case,
                    phase=phase,
                    round=self._job.round,
                    wall_ms=self._times_ms,
                )
            )
        self._times_ms, self._flushed_s = [], time.monotonic()

    def _emit(self, event: AnyEvent) -> None:
        send(self._events, msgspec.json.encode(event))

    def _now_s(self) -> float:
        return time.monotonic() - self._job.zero_s


def _leave_an_orphan(way: str) -> None:
    """Start what is in a session of its own, and die by oneself."""
    orphan = subprocess.Popen(["sleep", "2999"], start_new_session=True).pid
    if way == "fork":
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if (grandchild := os.fork()) == 0:
                time.sleep(2999)
            os.write(writer, str(grandchild).encode())
            os._exit(0)
        orphan = int(os.read(reader, 20))
    Path(os.environ[NOTES]).with_suffix(".orphans").write_text(str(orphan))
    if way == "segfault":
        ctypes.string_at(0)
    if way == "server":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(2999)
    if way == "engine":
        os.kill(psutil.Process(os.getppid()).ppid(), signal.SIGKILL)
        time.sleep(2999)
    os.kill(os.getpid(), signal.SIGKILL) if way == "kill" else os._exit(3)


def run_worker(job: bytes, events: Connection, stderr: Connection, pipes: Pipes | None) -> None:
    """Take the place of the worker that imports torch. Light cases take no turns."""
    assert pipes is None
    isolation.isolate()
    os.dup2(stderr.fileno(), 2)
    _Case(msgspec.json.decode(job, type=Job), events).run()


def run_probe(answer: Connection) -> None:
    """Answer what torch would be asked: it sees one GPU."""
    answer.send_bytes(msgspec.json.encode(Runtime(t=0.0, torch="none", cuda="0", cuda_devices=("played",))))


class _Backwards(datetime):
    """A wall clock that is set back by a day whenever it is read."""

    moment = datetime(2020, 1, 1, tzinfo=UTC)

    @classmethod
    def now(cls, tz: object = None) -> "datetime":
        """A day before the last call."""
        cls.moment -= timedelta(days=1)
        return cls.moment


def _set_the_clock_back() -> None:
    timestamps.datetime = _Backwards  # type: ignore[misc]
    time.time = lambda: _Backwards.now().timestamp()


class LightProcesses(worker_processes.WorkerProcesses):
    """The fork server imports the engine alone."""

    preloaded = ("benchtui.engine.__main__",)


def cluster(sweep: Sweep) -> ClusterExecutor:
    """A cluster whose nodes are processes of this machine; their process numbers stand in PATH.nodes."""
    names = [f"n{number}" for number, _ in enumerate(os.environ[KINDS].split(","), 1)]
    kinds = zip(names, os.environ[KINDS].split(","), strict=True)
    nodes = {name: Node(name, kind=kind, labels={"zone": "a"}) for name, kind in kinds}
    relays = {name: AgentProcess((sys.executable, "-P", __file__, "--station")) for name in names}
    Path(sys.argv[-1] + ".nodes").write_text("".join(f"{relays[name].pid}\n" for name in names))
    wires = {name: PullTransport(relay.read, relay.write, relay.close) for name, relay in relays.items()}
    return ClusterExecutor(wires, nodes, lambda: None)


def main() -> int:
    """Run the engine's own main with light cases."""
    worker_processes._run_worker, worker_processes._run_torch_query = run_worker, run_probe
    engine_main.NodeRunner = lambda: NodeRunner(LightProcesses())  # type: ignore[assignment, misc]
    remote_node.SILENCE_LIMIT_S = float(os.environ.get(SILENT, remote_node.SILENCE_LIMIT_S))
    if os.environ.get(KINDS):
        engine_main._executor = cluster  # type: ignore[assignment]
    if room := os.environ.get(ROOM):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), resource.RLIM_INFINITY))
    if os.environ.get(CLOCK) == "back":
        _set_the_clock_back()
    return engine_main.main()


if __name__ == "__main__":
    sys.exit(main())

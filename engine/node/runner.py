"""Node runner: runs cases on one machine and adds telemetry to their results."""

import os
import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic

from msgspec.structs import replace

from benchtui.engine.executor import Execution, ExecutorContext, Node
from benchtui.engine.job import Job, PeaksReport, WorkerEvent
from benchtui.engine.node.case_execution import CaseRun
from benchtui.engine.node.energy import idle_power_w
from benchtui.engine.node.fork_server import START_S
from benchtui.engine.node.preflight import IDLE_S, NodeTask, idle_and_torch, peaks
from benchtui.engine.node.protocol import OpenNode
from benchtui.engine.node.scratch_dir import Scratch
from benchtui.engine.node.telemetry_window import TelemetryWindow
from benchtui.engine.node.worker_processes import WorkerProcesses
from benchtui.engine.telemetry.gpu.cuda_presence import visible_devices_setting
from benchtui.engine.telemetry.gpu.open import open_gpus
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.engine.telemetry.host import HostReader
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.telemetry.neighbors.idle import IdleProbe, idle_gpu_processes
from benchtui.engine.telemetry.rapl import Rapl
from benchtui.engine.telemetry.sampler import BATCH, PERIOD_S, Sampler
from benchtui.engine.worker.turns import Pipes
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, Idle, Outcome, Peaks, Telemetry
from benchtui.sessions.stats.disturbance import IDLE_GPU_PERCENT
from benchtui.sessions.sweep import named_values


class NodeRunner:
    """Executor with this machine as its only node. Each case gets the telemetry of its measured span."""

    warnings = ()

    def __init__(self, processes: WorkerProcesses | None = None) -> None:
        """Describe the host. Sampling and processes start only with ``open``."""
        gpus = open_gpus()
        self.host = describe_host(gpus)
        """The engine's machine."""
        self.nodes = (Node(None, self.host, visible=visible_devices_setting()),)
        self._gpu_reader = None if isinstance(gpus, GpusUnavailable) else gpus
        self._processes = processes or WorkerProcesses()
        self._telemetry = TelemetryWindow(self._flush)
        self._runs: list[CaseRun] = []
        """Running cases."""
        self._pipes: dict[int, Pipes] = {}
        """Pipes of the cases that are started next, because they take turns with one that has been started."""
        self._settings = OpenNode(zero_s=0.0)
        self._emit: Callable[[Telemetry], None] = lambda event: None
        self._sampler: Sampler | None = None
        self._scratch: Scratch | None = None

    def open(self, context: ExecutorContext) -> None:
        """Start sampling the machine. Its events are emitted from another thread."""
        settings = context.settings
        os.environ.update(settings.env)  # for the fork server: libraries read them on import
        self._processes.preload_for(settings.dataset)
        self._settings, self._emit = settings, context.emit
        self._scratch = Scratch()
        batch = max(BATCH, round(settings.report_s / PERIOD_S))
        self._sampler = Sampler(
            self._gpu_reader,
            clock=self.now_s,
            emit=self._sampled,
            batch=batch,
            host=HostReader(None if "rapl" in self.host.absent else Rapl()),
            stops=self._telemetry.stops,
            measured_gpus=self._measured_gpus,
        )
        self._sampler.start()

    def now_s(self) -> float:
        """Session time in seconds."""
        return round(monotonic() - self._settings.zero_s, 6)

    def prepare(self) -> NodeTask:
        """Read the idle machine if the session wants that or power is readable, then query torch."""
        begin_s, idle_s = self.now_s(), self._settings.idle_s
        probe = IdleProbe() if idle_s else None
        if "rapl" in self.host.absent and not probe:
            self._processes.start_server()  # imports torch in parallel, as processor power can't be read
        if self._gpu_reader is not None or "rapl" not in self.host.absent:
            idle_s = max(idle_s, IDLE_S)
        work = idle_and_torch(
            self._processes,
            lambda: self._idle(begin_s, probe),
            idle_s,
            self._settings.node,
            self.host.container_cpus,
        )
        return NodeTask(work)

    def measure_peaks(self, wanted: Mapping[str | None, Sequence[PeakKey]]) -> NodeTask:
        """Measure device peaks. No case may be running."""
        completed = None if self._gpu_reader is None else self.completed
        return NodeTask(peaks(self._processes, wanted.get(None, ()), self._settings.node, completed))

    def start(self, job: Job, node: str | None = None) -> Execution:
        """Start a case, once its fork server is ready. Raises BenchtuiError if its worker can't be started.

        Cases that take turns are started right after each other, in the order of their turns. If one of them
        can't be started, the turns of the others last until they have been measured enough.
        """
        pipes = self._pipes_of(job)
        ready = self._processes.begin_server(named_values.texts(job.config.env))
        if ready is None:
            return self._start(job, pipes)
        return PendingCase(job.case, ready, lambda: self._start(job, pipes))

    def _pipes_of(self, job: Job) -> Pipes | None:
        """Return the job's pipes to the cases that it takes turns with; None if it runs alone."""
        if job.turns is None:
            return None
        if job.turns.place == 0:
            cases = [turn.case for turn in job.turns.rounds]
            self._pipes = dict(zip(cases, self._processes.pipes_around(len(cases)), strict=True))
        return self._pipes.pop(job.case, None)

    def _start(self, job: Job, pipes: Pipes | None) -> CaseRun:
        if self._scratch is None:
            raise AssertionError("a node must be opened before its first case")
        now_s = self.now_s()
        self._telemetry.drop_before(min((run.begun_s for run in self._runs), default=now_s))
        settings, scratch = self._settings, str(self._scratch.path / job.scratch)
        job = replace(job, zero_s=settings.zero_s, report_s=settings.report_s, scratch=scratch)
        execution = self._processes.start(job, pipes)
        gpus, device = self._gpu_reader, job.config.device
        run = CaseRun(
            execution,
            gpus,
            self.host,
            self._telemetry,
            now_s,
            self._ended,
            device=device,
            workers=lambda: frozenset(run.pid for run in self._runs if run.device == device),
        )
        self._runs.append(run)
        self._update_workers()
        return run

    def close(self) -> None:
        """Stop sampling, kill all processes and remove the scratch directory."""
        if self._sampler:
            self._sampler.stop()
        self._processes.close()
        if self._scratch:
            self._scratch.remove()

    def _ended(self, run: CaseRun) -> None:
        self._runs = [other for other in self._runs if other is not run]
        self._telemetry.stops.forget(run.pid)
        self._update_workers()

    def _update_workers(self) -> None:
        self._telemetry.set_worker_count(len(self._runs), self.now_s())
        if self._sampler:
            self._sampler.watch(run.pid for run in self._runs)

    def _measured_gpus(self) -> frozenset[int] | None:
        """Return the indices of GPUs with a running case. None if there is no case, or one may use any GPU."""
        runs = list(self._runs)
        unknown = not runs or any(run.on_gpu and run.gpu is None for run in runs)
        return None if unknown else frozenset(run.gpu.index for run in runs if run.gpu)

    def _flush(self) -> None:
        if self._sampler:
            self._sampler.flush()

    def _sampled(self, event: Telemetry) -> None:
        self._telemetry.add(event)
        self._emit(replace(event, node=self._settings.node))

    def completed(self, report: PeaksReport) -> Peaks:
        """Note the clock of a GPU under load, and return its peaks with its power with an idle context."""
        self._flush()
        power_w, zero_s = None, self._settings.zero_s
        for gpu in self.host.gpus:
            if gpu.uuid is None or gpu.uuid != report.gpu_uuid or gpu.mig:
                continue
            if report.busy_span_s:
                begin_s, end_s = report.busy_span_s
                self._telemetry.best_clock_mhz(gpu.index, begin_s - zero_s, end_s - zero_s)
            if report.idle_span_s:
                begin_s, end_s = report.idle_span_s
                powers_w = idle_power_w(self._telemetry, [gpu], begin_s - zero_s, end_s - zero_s)
                power_w = powers_w.get(f"gpu {gpu.index}")
        return replace(report.peaks, context_power_w=power_w)

    def _idle(self, begin_s: float, probe: IdleProbe | None) -> Idle | None:
        """Return the readings of the idle machine, and keep them for the cases. None if there are none."""
        now_s = self.now_s()
        power_w = idle_power_w(self._telemetry, self.host.gpus, begin_s, now_s)
        if not probe and not power_w:
            return None
        idle = probe.since(now_s) if probe else Idle(t=now_s, window_s=IDLE_S)
        processes = self._idle_gpu_processes(begin_s, now_s) if probe else {}
        idle = replace(idle, power_w=power_w, gpu_processes=processes, node=self._settings.node)
        self._telemetry.idle = idle if probe else None
        return idle

    def _idle_gpu_processes(self, begin_s: float, now_s: float) -> dict[str, int]:
        if self._gpu_reader is None:
            return {}
        loads = {
            gpu.index: self._telemetry.gpu(gpu.index, "utilization_percent", begin_s, now_s)
            for gpu in self.host.gpus
        }
        busy = [index for index, points in loads.items() if any(load > IDLE_GPU_PERCENT for _, load in points)]
        return idle_gpu_processes(self._gpu_reader, self.host.gpus, busy)


class PendingCase:
    """Case that starts once the fork server with its environment variables has imported torch."""

    def __init__(self, case: int, ready: int, start: Callable[[], Execution]) -> None:
        """``ready`` is a descriptor that becomes readable once ``start`` won't block. It is closed then."""
        self._case = case
        self._ready = ready
        self._start = start
        self._started: Execution | None = None
        self._ended: tuple[Outcome, str] | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the worker; None before it starts."""
        return self._started.pid if self._started else None

    @property
    def sources(self) -> list[int]:
        """File descriptors that become readable when there is something to collect."""
        return list(self._started.sources) if self._started else [self._ready]

    @property
    def left_s(self) -> float:
        """Seconds until ``collect`` must be called even if nothing becomes readable."""
        if self._started:
            return self._started.left_s
        return 0.0 if self._ended else START_S

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """Start the case if its server is ready, and yield its events."""
        if self._started is None:
            try:
                self._start_if_ready()
            except BenchtuiError as error:
                self._ended = ("failed", str(error))
        if self._started:
            yield from self._started.collect(now_s)
        elif self._ended:
            os.close(self._ready)
            outcome, reason = self._ended
            yield CaseFinished(t=now_s, case=self._case, outcome=outcome, reason=reason)

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the case, or let it end without starting."""
        if self._started:
            self._started.end(outcome, reason, now_s)
        else:
            self._ended = self._ended or (outcome, reason)

    def _start_if_ready(self) -> None:
        if self._ended or not select.select([self._ready], [], [], 0)[0]:
            return
        self._started = self._start()
        os.close(self._ready)

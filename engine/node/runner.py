"""Node runner: runs cases on one machine and adds telemetry to their results."""

import os
from collections.abc import Callable, Iterable
from time import monotonic

from msgspec.structs import replace

from benchtui.engine.executor import Execution
from benchtui.engine.job import Job
from benchtui.engine.node.case_execution import CaseRun
from benchtui.engine.node.energy import idle_power_w
from benchtui.engine.node.pending_case import PendingCase
from benchtui.engine.node.preflight import IDLE_S, IdleAndTorchTask, PeaksTask
from benchtui.engine.node.protocol import OpenNode
from benchtui.engine.node.scratch_dir import Scratch
from benchtui.engine.node.telemetry_window import TelemetryWindow
from benchtui.engine.node.worker_processes import WorkerProcesses
from benchtui.engine.telemetry.gpu.open import open_gpus
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.engine.telemetry.host import HostReader
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.telemetry.neighbors.idle import IdleProbe, idle_gpu_processes
from benchtui.engine.telemetry.rapl import Rapl
from benchtui.engine.telemetry.sampler import BATCH, PERIOD_S, Sampler
from benchtui.engine.worker.turns import Pipes
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.events import Idle, Telemetry
from benchtui.sessions.payloads import Gpu
from benchtui.sessions.stats.disturbance import IDLE_GPU_PERCENT
from benchtui.sessions.sweep import named_values


class NodeRunner:
    """One machine with its sampler and running cases. Each case gets the telemetry of its measured span."""

    def __init__(self, processes: WorkerProcesses | None = None) -> None:
        """Describe the host. Sampling and processes start only with ``open``."""
        gpus = open_gpus()
        self.host = describe_host(gpus)
        self._gpu_reader = None if isinstance(gpus, GpusUnavailable) else gpus
        self._processes = processes or WorkerProcesses()
        self._telemetry = TelemetryWindow(self._flush)
        self._runs: list[CaseRun] = []
        """Running cases."""
        self._pipes: dict[int, Pipes] = {}
        """Pipes of the cases that are started next, because they take turns with one that has been started."""
        self._settings = OpenNode(zero_s=0.0)
        self._emit: Callable[[Telemetry], None] = _discard
        self._sampler: Sampler | None = None
        self._scratch: Scratch | None = None

    def open(self, settings: OpenNode, emit: Callable[[Telemetry], None]) -> None:
        """Start sampling the machine. ``emit`` is called from another thread and must not raise."""
        os.environ.update(settings.env)  # for the fork server: libraries read them on import
        self._processes.preload_for(settings.dataset)
        self._settings, self._emit = settings, emit
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

    def prepare(self) -> IdleAndTorchTask:
        """Read the idle machine if the session wants that or power is readable, then query torch."""
        begin_s, idle_s = self.now_s(), self._settings.idle_s
        probe = IdleProbe() if idle_s else None
        if "rapl" in self.host.absent and not probe:
            self._processes.start_server()  # imports torch in parallel, as processor power can't be read
        if self._gpu_reader is not None or "rapl" not in self.host.absent:
            idle_s = max(idle_s, IDLE_S)
        return IdleAndTorchTask(
            self._processes,
            lambda now_s: self._idle(begin_s, now_s, probe),
            idle_s,
            self._settings.node,
            self.host.container_cpus,
        )

    def measure_peaks(self, wanted: Iterable[PeakKey]) -> PeaksTask:
        """Measure device peaks. No case may be running."""
        spans = None if self._gpu_reader is None else self
        return PeaksTask(self._processes, wanted, self._settings.node, spans)

    def start(self, job: Job) -> Execution:
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

    def power_w(self, uuid: str, begin_s: float, end_s: float) -> float | None:
        """Return the mean power of a GPU between two times of the monotonic clock. None if unreadable."""
        self._flush()
        gpus, zero_s = self._gpus(uuid), self._settings.zero_s
        powers_w = idle_power_w(self._telemetry, gpus, begin_s - zero_s, end_s - zero_s)
        return next((powers_w.get(f"gpu {gpu.index}") for gpu in gpus), None)

    def note_load(self, uuid: str, begin_s: float, end_s: float) -> None:
        """Record that a GPU was under load between two times of the monotonic clock."""
        self._flush()
        zero_s = self._settings.zero_s
        for gpu in self._gpus(uuid):
            self._telemetry.best_clock_mhz(gpu.index, begin_s - zero_s, end_s - zero_s)

    def _gpus(self, uuid: str) -> list[Gpu]:
        return [gpu for gpu in self.host.gpus if gpu.uuid == uuid and not gpu.mig]

    def _idle(self, begin_s: float, now_s: float, probe: IdleProbe | None) -> Idle | None:
        """Return the readings of the idle machine, and keep them for the cases. None if there are none."""
        power_w = idle_power_w(self._telemetry, self.host.gpus, begin_s, now_s)
        if not probe and not power_w:
            return None
        found = probe.since(now_s) if probe else Idle(t=now_s, window_s=IDLE_S)
        processes = self._idle_gpu_processes(begin_s, now_s) if probe else {}
        found = replace(found, power_w=power_w, gpu_processes=processes, node=self._settings.node)
        self._telemetry.idle = found if probe else None
        return found

    def _idle_gpu_processes(self, begin_s: float, now_s: float) -> dict[str, int]:
        if self._gpu_reader is None:
            return {}
        loads = {
            gpu.index: self._telemetry.gpu(gpu.index, "utilization_percent", begin_s, now_s)
            for gpu in self.host.gpus
        }
        busy = [index for index, points in loads.items() if any(load > IDLE_GPU_PERCENT for _, load in points)]
        return idle_gpu_processes(self._gpu_reader, self.host.gpus, busy)


def _discard(event: Telemetry) -> None:
    """Discard an event. Used until ``open`` sets a receiver."""

"""Worker entry point: prepares and measures one case, and sends its events."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median_low
from time import monotonic
from typing import NoReturn, TypeVar

import msgspec
import torch

from benchtui.engine.devices import oom
from benchtui.engine.devices.base import Device
from benchtui.engine.devices.registry import open_device
from benchtui.engine.exception_text import blames_child, described, text_of
from benchtui.engine.files.digests import used_files
from benchtui.engine.job import Job, LeftThreads, StepCostReport, WorkerEvent
from benchtui.engine.line_protocol import send
from benchtui.engine.models import attention, precision
from benchtui.engine.models.backends.opening import Opened
from benchtui.engine.models.compilation import CompileWatch, applied_cuda_graphs
from benchtui.engine.process_tree import kill_descendants
from benchtui.engine.worker import answers, isolation
from benchtui.engine.worker.environment import missing_preloads
from benchtui.engine.worker.explain.backend_profile import profile_backend
from benchtui.engine.worker.explain.compiler_log import CompilerLog, show_fused_kernels
from benchtui.engine.worker.explain.profiling import profile_step
from benchtui.engine.worker.step_cost import TypicalStep, count_waits, measure_step_cost, stored_or
from benchtui.engine.worker.timed_loop import MeasuredPhase, Recorder, measure, warm_up
from benchtui.engine.worker.turns import Pipes, Turns
from benchtui.engine.workloads.base import Workload
from benchtui.engine.workloads.own import task as own
from benchtui.sessions.analysis.applied_options import unapplied_options
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.events import CaseFinished, CasePrepared, Explained, Outcome, Phase
from benchtui.sessions.library import artifacts
from benchtui.sessions.payloads import Compiling, Effective, Memory, StepCost
from benchtui.sessions.sweep import custom_task, named_values
from benchtui.sessions.text.formatting import count
from benchtui.sessions.timestamps import utc_now

WorkerReport = WorkerEvent | StepCostReport | LeftThreads
Emit = Callable[[WorkerReport], None]
T = TypeVar("T")

_CUT_SHORT = "the worker exited while the cost of a step was counted"
STEP_COST_PENDING = StepCost(absent=dict.fromkeys(("flops", "bytes"), _CUT_SHORT))
"""Placeholder in ``CaseFinished``: counting the step's cost comes later and may kill the worker."""


def main(job: bytes, events: Connection, stderr: Connection, pipes: Pipes | None = None) -> None:
    """Run a case in the process forked for it, then kill its descendants.

    ``pipes`` lead to the workers that it takes turns with.
    """
    _isolate(stderr)
    encoder = msgspec.json.Encoder()

    def emit(event: WorkerReport) -> None:
        send(events, encoder.encode(event))

    _Case(msgspec.json.decode(job, type=Job), emit, pipes).run()
    isolation.end_children_quietly()
    kill_descendants(os.getpid())
    isolation.end_without_threads(emit)


def _isolate(stderr: Connection) -> None:
    isolation.isolate()
    os.dup2(stderr.fileno(), 2)
    os.dup2(2, 1)
    sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115  (lives as long as the process)


class _Case:
    def __init__(self, job: Job, emit: Emit, pipes: Pipes | None = None) -> None:
        self._job = job
        self._send = emit
        self._turns = Turns(job.turns, pipes, job.sweep.measure.timeout_s) if job.turns and pipes else None
        self._pid = os.getpid()

    def run(self) -> None:
        """Run the job, always send an outcome, then report the step's cost if the case was measured."""
        if self._job.explain:
            self._report(self._explain)
        elif measured := self._report(self._prepare_and_measure):
            device, workload, typical = measured
            self._answer(workload, typical)
            cost = stored_or(self._job, typical, lambda: self._step_cost(device, workload, typical))
            self._emit(StepCostReport(work=cost))

    def _report(self, work: Callable[[], T]) -> T | None:
        """Run work that sends its own outcome, and return its result. If it raises, send the outcome here."""
        try:
            return work()
        except CaseSkippedError as error:
            self._end("skipped", text_of(error))
        except BenchtuiError as error:
            self._end("failed", text_of(error))
        except BaseException as error:  # noqa: BLE001  (boundary: whatever a model raises is the case's outcome)
            self._failed(error)
        return None

    def _prepare_and_measure(self) -> tuple[Device, Workload, TypicalStep]:
        device, workload = self._prepare()
        ended, typical = self._measure(device, workload)
        self._emit(ended)
        return device, workload, typical

    def _explain(self) -> None:
        """Prepare, warm up and profile the step. Nothing else is reported for the case."""
        log = CompilerLog()
        log.attach()
        show_fused_kernels()
        device, workload = self._prepare()
        rules = self._job.sweep.measure.for_device(self._job.config.device)
        warm_up(
            workload, device, rules, msgspec.structs.replace(self._recorder("warmup"), emit=lambda steps: None)
        )
        throughput = rules.mode == "throughput"
        if opened := self._opaque(workload):
            profile = profile_backend(workload, opened, device, Path(self._job.scratch))
        else:
            profile = profile_step(workload, device, log, throughput=throughput, trace=self._job.trace)
        self._emit(Explained(t=self._now_s(), case=self._job.case, created=utc_now(), profile=profile))
        self._emit(CaseFinished(t=self._now_s(), case=self._job.case, outcome="ok"))

    def _opaque(self, workload: Workload) -> Opened | None:
        """Return the network in a backend whose operations torch's profiler doesn't see: those on a processor.

        Raises CaseSkippedError for a trace, which only torch's profiler writes.
        """
        config = self._job.config
        if workload.opened is None or config.device != "cpu":
            return None
        if self._job.trace:
            raise CaseSkippedError(f"only torch's profiler writes traces, and {config.backend} is opaque to it")
        return workload.opened

    def _prepare(self) -> tuple[Device, Workload]:
        """Apply the options, load model and data, and send ``CasePrepared``."""
        job, begin_s = self._job, monotonic()
        self._apply_options()
        device = open_device(job.config.device)
        workload = self._make_workload(device)
        effective = self._with_variables(workload.effective)
        self._emit(
            CasePrepared(
                t=self._now_s(),
                case=job.case,
                model=workload.model,
                data=workload.data,
                effective=effective,
                marks=(*workload.marks, *self._unapplied(effective)),
                load_s=monotonic() - begin_s,
                artifact=workload.opened.artifact if workload.opened else None,
                files=used_files(job.sweep, job.config, workload.data),
                samples_per_step=workload.samples,
                task=None if custom_task(job.sweep.task) else job.sweep.task,
                new_tokens=workload.new_tokens,
                gpu_uuid=device.uuid,
                gpu_absent=device.uuid_absent,
            )
        )
        return device, workload

    def _make_workload(self, device: Device) -> Workload:
        sweep, config = self._job.sweep, self._job.config
        if custom_task(sweep.task):
            return own.CustomTask(sweep, config, device)
        from benchtui.engine.workloads.registry import (
            make_workload,  # transformers, which a user's step may lack
        )

        return make_workload(sweep, config, device)

    def _apply_options(self) -> None:
        """Set process-wide options: compiler caches, TF32 and threads.

        Raises CaseSkippedError if a library that the case preloads isn't installed.
        """
        variables = self._job.sweep.env | named_values.texts(self._job.config.env)
        if missing := missing_preloads(variables):
            raise CaseSkippedError(f"LD_PRELOAD: {', '.join(missing)} can't be loaded; is it installed?")
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{self._job.scratch}/inductor"
        os.environ["TRITON_CACHE_DIR"] = f"{self._job.scratch}/triton"
        if os.environ.get(artifacts.VARIABLE) == artifacts.OFF:
            os.environ[artifacts.VARIABLE] = f"{self._job.scratch}/artifacts-{self._job.round}"
        precision.set_tf32(self._job.config.precision)
        if self._job.config.threads:
            torch.set_num_threads(self._job.config.threads)
        count = self._job.config.tokenizer_threads or self._job.config.threads
        if count:
            os.environ["RAYON_NUM_THREADS"] = str(count)
            os.environ["TOKENIZERS_PARALLELISM"] = "false" if count == 1 else "true"

    def _with_variables(self, effective: Effective) -> Effective:
        """Add the environment variables of the case, with their values in this process."""
        wanted = named_values.texts(self._job.config.env)
        if not wanted:
            return effective
        actual = {name: os.environ[name] for name in wanted if name in os.environ}
        return msgspec.structs.replace(
            effective, others=effective.others | {"env": named_values.text_of(actual)}
        )

    def _unapplied(self, effective: Effective) -> tuple[str, ...]:
        return unapplied_options(self._job.sweep.resolve(self._job.config), effective)

    def _measure(self, device: Device, workload: Workload) -> tuple[CaseFinished, TypicalStep]:
        """Warm up and measure. Return the case's end and the step whose cost is to be counted."""
        rules = self._job.sweep.measure.for_device(self._job.config.device)
        watch = CompileWatch(self._job.config.uses_cuda_graphs) if self._job.config.compile != "off" else None
        if self._turns:
            self._turns.wait()
        warmup_stop = warm_up(workload, device, rules, self._recorder("warmup"), watch)
        if self._turns:
            self._turns.pass_on()
        recorder = self._recorder("measure")
        measured = measure(workload, device, rules, recorder, watch, self._job.enough_percent, self._turns)
        step_s = (measured.end_s - measured.begin_s) / recorder.added
        padded_tokens = median_low(sizes.elements()) if (sizes := recorder.padded_tokens) else None
        return self._ended_well(device, workload, measured, warmup_stop), TypicalStep(step_s, padded_tokens)

    def _ended_well(
        self, device: Device, workload: Workload, measured: MeasuredPhase, warmup_stop: str
    ) -> CaseFinished:
        job, memory = self._job, self._memory(device, workload, measured.compiling)
        workload.end_measuring()
        cuda_graphs = applied_cuda_graphs(measured.compiling)
        effective = msgspec.structs.replace(self._with_variables(workload.read_back()), cuda_graphs=cuda_graphs)
        return CaseFinished(
            t=self._now_s(),
            case=job.case,
            outcome="ok",
            effective=effective,
            marks=(*workload.marks, *self._unapplied(effective), *_unsteady(measured.compiling)),
            measured_s=(measured.begin_s - job.zero_s, measured.end_s - job.zero_s),
            stop=measured.stop,
            warmup_stop=warmup_stop,
            memory=memory,
            environment=measured.environment,
            compiling=measured.compiling,
            work=STEP_COST_PENDING,
            turns=self._turns.taken(measured.slice_steps) if self._turns else None,
        )

    def _answer(self, workload: Workload, typical: TypicalStep) -> None:
        """Answer the probe, which doesn't affect the results that have been reported."""
        if self._job.sweep.measure.answers and (
            answered := answers.answer(self._job, workload, typical.step_s, self._now_s)
        ):
            self._emit(answered)

    def _step_cost(self, device: Device, workload: Workload, typical: TypicalStep) -> StepCost:
        """Return the cost of a step, in throughput mode including the number of waits for the device."""
        work = measure_step_cost(workload, device, typical)
        if self._job.sweep.measure.mode == "latency":
            return work
        return count_waits(work, workload, device, typical.step_s)

    def _memory(self, device: Device, workload: Workload, compiling: Compiling | None) -> Memory:
        """Return memory peaks, without the allocated peak if CUDA graphs were recorded.

        A replay allocates no tensors. If torch doesn't count recordings, the requested mode decides. A backend
        has allocators that torch's counters don't see.
        """
        memory = msgspec.structs.replace(device.memory_peaks(), kv_cache_mb=workload.kv_cache_mb)
        if self._job.config.backend != "torch":
            return msgspec.structs.replace(memory, peak_allocated_mb=None, peak_reserved_mb=None)
        recorded = compiling.cuda_graphs if compiling else None
        if recorded or (recorded is None and self._job.config.uses_cuda_graphs):
            return msgspec.structs.replace(memory, peak_allocated_mb=None)
        return memory

    def _recorder(self, phase: Phase) -> Recorder:
        job = self._job
        return Recorder(job.case, phase, self._emit, self._now_s, job.round, job.report_s)

    def _failed(self, error: BaseException) -> None:
        if reason := attention.no_kernel_reason(self._job.config.attention, error):
            self._end("skipped", reason)
            return
        if out_of_memory := oom.reason(self._job.config.device, error):
            self._end("oom", out_of_memory)
            return
        reason = own.error_location(error, self._job.sweep.task) + described(error)
        if not blames_child(reason):  # else the last lines on stderr are the child's, which the engine reads
            with suppress(BaseException):  # formatting the exception may raise as well
                traceback.print_exception(error)
        self._end("failed", reason)

    def _end(self, outcome: Outcome, reason: str) -> None:
        self._emit(CaseFinished(t=self._now_s(), case=self._job.case, outcome=outcome, reason=reason))

    def _emit(self, event: WorkerEvent | StepCostReport) -> None:
        if os.getpid() != self._pid:
            self._end_copy()
        self._send(event)

    def _end_copy(self) -> NoReturn:
        """Fail the case from a forked copy of the worker in which the step has returned."""
        failed = CaseFinished(
            t=self._now_s(), case=self._job.case, outcome="failed", reason=own.FORKED_STEP_REASON
        )
        self._send(failed)
        if os.getppid() == self._pid:
            os.kill(self._pid, signal.SIGKILL)
        os._exit(1)

    def _now_s(self) -> float:
        return monotonic() - self._job.zero_s


def _unsteady(compiling: Compiling | None) -> tuple[str, ...]:
    """Return a mark if torch compiled or recorded CUDA graphs during measured steps."""
    if compiling is None or not compiling.unsteady:
        return ()
    return (f"the compiler ran during {count(len(compiling.unsteady), 'measured step')}",)

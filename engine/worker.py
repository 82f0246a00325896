"""One case in its own process: prepares, measures, and sends what happens as events."""

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic

import msgspec
import torch

from benchtui.engine import precision
from benchtui.engine.compiled import CompileWatch
from benchtui.engine.devices import Device, open_device
from benchtui.engine.executors.base import WorkerEvent
from benchtui.engine.executors.lines import send
from benchtui.engine.job import Job
from benchtui.engine.measure import Recorder, measure, warm_up
from benchtui.engine.workloads import make_workload, own
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.events import CaseFinished, CasePrepared, Compiling, Outcome, Phase
from benchtui.sessions.in_force import in_vain

_PR_SET_PDEATHSIG = 1  # prctl(2)

Emit = Callable[[WorkerEvent], None]


def main(job: bytes, events: Connection, stderr: Connection) -> None:
    """Run a case to its end, in the process that was forked for it."""
    _isolate(stderr)
    encoder = msgspec.json.Encoder()
    _Case(msgspec.json.decode(job, type=Job), lambda event: send(events, encoder.encode(event))).run()


def _isolate(stderr: Connection) -> None:
    """Make the process the first to go when memory runs out, and a group of its own, and take its output."""
    os.setsid()
    with suppress(
        OSError, AttributeError
    ):  # Linux alone; without it the closed pipe ends the worker a step later
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    os.dup2(stderr.fileno(), 2)
    os.dup2(2, 1)
    sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115  (lives as long as the process)


class _Case:
    """One case from loading to its outcome."""

    def __init__(self, job: Job, emit: Emit) -> None:
        self._job = job
        self._emit = emit
        self._device: Device | None = None

    def run(self) -> None:
        """Prepare and measure, and tell the outcome whatever happens."""
        try:
            self._emit(self._measured())
        except CaseSkippedError as error:
            self._end("skipped", str(error))
        except BenchtuiError as error:
            self._end("failed", str(error))
        except BaseException as error:  # noqa: BLE001  (the boundary: whatever a model raises is this case's outcome)
            self._failed(error)

    def _measured(self) -> CaseFinished:
        job, rules = self._job, self._job.sweep.measure
        self._isolate_caches()
        precision.set_tf32(job.config.precision)
        if job.config.threads:
            torch.set_num_threads(job.config.threads)
        begin_s = monotonic()
        device = self._device = open_device(job.config.device)
        workload = make_workload(job.sweep, job.config, device)
        self._emit(
            CasePrepared(
                t=self._now_s(),
                case=job.case,
                model=workload.model,
                data=workload.data,
                effective=workload.effective,
                marks=(*workload.marks, *in_vain(job.config, workload.effective)),
                load_s=monotonic() - begin_s,
                samples_per_step=workload.samples,
                new_tokens=workload.new_tokens,
                gpu_uuid=device.uuid,
            )
        )
        warmup_stop = warm_up(workload, device, rules, self._recorder("warmup"))
        watch = CompileWatch() if job.config.compile != "off" else None
        measured = measure(workload, device, rules, self._recorder("measure"), watch)
        effective = workload.read_back()
        return CaseFinished(
            t=self._now_s(),
            case=job.case,
            outcome="ok",
            effective=effective,
            marks=(*workload.marks, *in_vain(job.config, effective), *_unsteady(measured.compiling)),
            measured_s=(measured.begin_s - job.zero_s, measured.end_s - job.zero_s),
            stop=measured.stop,
            warmup_stop=warmup_stop,
            memory=msgspec.structs.replace(device.peaks(), kv_cache_mb=workload.kv_cache_mb),
            environment=measured.environment,
            compiling=measured.compiling,
        )

    def _recorder(self, phase: Phase) -> Recorder:
        return Recorder(self._job.case, phase, self._emit, self._now_s, self._job.round)

    def _isolate_caches(self) -> None:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{self._job.scratch}/inductor"
        os.environ["TRITON_CACHE_DIR"] = f"{self._job.scratch}/triton"

    def _failed(self, error: BaseException) -> None:
        out_of_memory = self._device.out_of_memory(error) if self._device else None
        if out_of_memory:
            self._end("oom", out_of_memory)
            return
        traceback.print_exception(error)
        said = next(iter(str(error).strip().splitlines()), "")
        what = f"{type(error).__name__}: {said}" if said else type(error).__name__
        self._end("failed", own.place(error, self._job.sweep.task) + what)

    def _end(self, outcome: Outcome, reason: str) -> None:
        self._emit(CaseFinished(t=self._now_s(), case=self._job.case, outcome=outcome, reason=reason))

    def _now_s(self) -> float:
        return monotonic() - self._job.zero_s


def _unsteady(compiling: Compiling | None) -> tuple[str, ...]:
    """A mark for a case in whose measured steps the compiler was at work."""
    if compiling is None or not compiling.unsteady:
        return ()
    return (f"the compiler was at work in {len(compiling.unsteady)} measured steps",)

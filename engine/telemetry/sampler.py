"""The thread that samples GPUs and machine at a steady pace, and hands the samples on in columns."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchtui.engine.telemetry.host import HostReader, HostSample
from benchtui.engine.telemetry.nvml import GpuSample, Nvml
from benchtui.engine.telemetry.rapl import Rapl
from benchtui.engine.telemetry.stopped_workers import Stops
from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import GpuReadings, HostReadings

PERIOD_S, BATCH = 0.25, 2
"""Seconds between two samples, and how many are handed on together."""
_STOP_S = 5.0
# a driver that hangs over a lost GPU must not keep the session from being closed
STOOD_STILL_S = 1.0
"""Later than this a wait ends only where the machine was suspended or the engine stopped."""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
# Linux's monotonic clock stands still while the machine is suspended, this one goes on (clock_gettime(2))


@dataclass(frozen=True, slots=True)
class _Sample:
    """Everything at one moment, in session seconds."""

    at_s: float
    gpus: tuple[GpuSample, ...]
    host: HostSample


class Sampler:
    """Samples every ``period_s`` seconds and calls ``emit`` with every ``batch`` samples, from its own thread.

    ``clock`` gives session seconds; ``emit`` must not raise.
    """

    def __init__(
        self,
        nvml: Nvml | None,
        *,
        clock: Callable[[], float],
        emit: Callable[[Telemetry], None],
        period_s: float = PERIOD_S,
        batch: int = BATCH,
        rapl: Rapl | None = None,
        stops: Stops | None = None,
    ) -> None:
        self._nvml = nvml
        self._clock = clock
        self._emit = emit
        self._period_s = period_s
        self._batch = batch
        self._host = HostReader(rapl)
        self._stops = stops
        self._worker_pids: tuple[int, ...] = ()
        self._samples: list[_Sample] = []
        self._told: dict[int, dict[str, str]] = {}
        self._stopped = threading.Event()
        self._handing_on = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    def watch(self, pids: Iterable[int]) -> None:
        """From the next sample on, read the workers with these process numbers."""
        self._worker_pids = tuple(pids)

    def start(self) -> None:
        """Begin to sample; once only."""
        self._thread.start()

    def stop(self) -> None:
        """End sampling and hand on what is left; afterwards ``emit`` is not called again."""
        self._stopped.set()
        self._thread.join(_STOP_S)
        self.flush()

    def flush(self) -> None:
        """Hand on at once what has been sampled; may be called from another thread."""
        with self._handing_on:
            samples, self._samples = self._samples, []
            if samples:
                self._emit(self._event(samples))

    def _run(self) -> None:
        due_s = self._clock()
        while not self._wait(due_s - self._clock()):
            sample = self._sample()
            with self._handing_on:
                self._samples.append(sample)
            if len(self._samples) >= self._batch and not self._stopped.is_set():
                self.flush()
            due_s = next_due_s(due_s, self._clock(), self._period_s)

    def _wait(self, seconds: float) -> bool:
        """Wait, and tell at once where that took much longer; gives whether sampling is to end."""
        began_s = time.clock_gettime(_CLOCK)
        ended = self._stopped.wait(seconds)
        still_s = time.clock_gettime(_CLOCK) - began_s - max(seconds, 0.0)
        if still_s >= STOOD_STILL_S and not ended:
            self._emit(Telemetry(t=_rounded(self._clock()), at_s=[], stood_still_s=_rounded(still_s)))
        return ended

    def _sample(self) -> _Sample:
        at_s = self._clock()
        host = self._host.read(at_s, self._worker_pids)
        if self._stops:
            self._stops.look(at_s, self._worker_pids)
        return _Sample(at_s, () if self._nvml is None else self._nvml.sample(), host)

    def _event(self, samples: Sequence[_Sample]) -> Telemetry:
        return Telemetry(
            t=_rounded(self._clock()),
            at_s=[_rounded(sample.at_s) for sample in samples],
            gpus=tuple(self._gpu(column) for column in zip(*(s.gpus for s in samples), strict=True)),
            host=_host_readings([sample.host for sample in samples]),
        )

    def _gpu(self, column: Sequence[GpuSample]) -> GpuReadings:
        last = column[-1]
        return GpuReadings(
            index=last.index,
            power_w=[sample.power_w for sample in column],
            power_limit_w=last.power_limit_w,
            memory_used_mb=[sample.memory_used_mb for sample in column],
            memory_total_mb=last.memory_total_mb,
            utilisation_percent=[sample.utilisation_percent for sample in column],
            temperature_c=[sample.temperature_c for sample in column],
            sm_clock_mhz=[sample.sm_clock_mhz for sample in column],
            throttle=[sample.throttle for sample in column],
            energy_j=[sample.energy_j for sample in column],
            absent=self._untold(last.index, column),
        )

    def _untold(self, index: int, column: Sequence[GpuSample]) -> dict[str, str]:
        """Reasons for missing readings that no event has carried yet: each is told once."""
        told = self._told.setdefault(index, {})
        reasons = {name: reason for sample in column for name, reason in sample.absent.items()}
        news = {name: reason for name, reason in reasons.items() if told.get(name) != reason}
        told |= news
        return news


def _host_readings(column: Sequence[HostSample]) -> HostReadings:
    return HostReadings(
        cpu_percent=[sample.cpu_percent for sample in column],
        memory_used_mb=[sample.memory_used_mb for sample in column],
        worker_cpu_percent=[sample.worker_cpu_percent for sample in column],
        worker_rss_mb=[sample.worker_rss_mb for sample in column],
        engine_cpu_percent=[sample.engine_cpu_percent for sample in column],
        package_energy_j=_if_any([sample.package_energy_j for sample in column]),
        dram_energy_j=_if_any([sample.dram_energy_j for sample in column]),
    )


def _if_any(column: list[float | None]) -> list[float | None]:
    """The column, or nothing where no sample has the reading: most machines don't give it."""
    return [] if all(value is None for value in column) else column


def next_due_s(due_s: float, now_s: float, period_s: float) -> float:
    """The first tick after ``now_s`` on the grid of ``due_s``: late ticks are skipped, not made up for."""
    return due_s + period_s * (math.floor((now_s - due_s) / period_s) + 1)


def _rounded(at_s: float) -> float:
    """To a tenth of a millisecond: more digits would only lengthen the journal."""
    return round(at_s, 4)

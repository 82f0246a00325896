"""Model of a GPU server over time: its clock, its GPUs, its processors, and the sampler's record of them."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from simulated.gpus import Gpu, Load
from simulated.llama import BOOST_MHZ, MEMORY_MB, POWER_LIMIT_W

from benchtui.engine.node.telemetry_window import TelemetryWindow
from benchtui.sessions.events import AnyEvent, Telemetry
from benchtui.sessions.payloads import Gpu as GpuFacts
from benchtui.sessions.payloads import GpuReadings, Host, HostReadings

PERIOD_S, BATCH = 0.25, 6
"""Seconds between samples, as in a real session, and samples per event: 6 in place of 2 keep the file small."""
CPUS = 96
OTHERS_LOAD = Load(dynamic_w=565.0, busy=0.95, memory_mb=61_300.0)
"""Work of other people on one of the GPUs."""
GPU_NAME = "NVIDIA H100 80GB HBM3 (simulated)"


@dataclass(slots=True)
class HostLoad:
    """Use of the processors by the worker and by others, in percent of one."""

    worker: float = 0.0
    rss_mb: float | None = None
    """Resident memory of the worker; None without a worker."""
    others: float = 18.0


class Box:
    """Server whose first GPU runs the sweep. With more than one, others use another of them."""

    def __init__(self, gpus: int, random: Random, emit: Callable[[AnyEvent], None]) -> None:
        self.now_s = 0.0
        self.host = HostLoad()
        self.gpus = [Gpu(index, random) for index in range(gpus)]
        self.window = TelemetryWindow()
        """Readings of the running case, as the engine keeps them."""
        self._random = random
        self._emit = emit
        self._at_s: list[float] = []
        self._host: dict[str, list[float | None]] = {}
        self._next_s = 0.02
        for gpu in self.gpus:
            if gpu.index and gpu.index == min(2, gpus - 1):
                gpu.load = OTHERS_LOAD
                gpu.settle()

    @property
    def gpu(self) -> Gpu:
        """GPU that runs the sweep."""
        return self.gpus[0]

    def advance(self, span_s: float) -> None:
        """Let time pass. Samples fall due on the way."""
        until_s = self.now_s + span_s
        while self._next_s <= until_s:
            self._move(self._next_s)
            self._sample()
            self._next_s += PERIOD_S
        self._move(until_s)

    def flush(self) -> None:
        """Emit the pending samples."""
        if not self._at_s:
            return
        event = Telemetry(
            t=round(self.now_s, 4),
            at_s=self._at_s,
            gpus=tuple(self._readings(gpu) for gpu in self.gpus),
            host=HostReadings(**self._host),
        )
        self._at_s, self._host = [], {}
        self.window.add(event)
        self._emit(event)

    def describe(self) -> Host:
        """Describe the machine in a way that can't be taken for a real one."""
        return Host(
            hostname="simulated-box",
            platform="simulated",
            processor=f"{CPUS} simulated CPUs",
            cpu_count=CPUS,
            virtual=False,
            memory_mb=1_081_000.0,
            gpus=tuple(self._facts(gpu) for gpu in self.gpus),
            packages={"torch": "simulated", "transformers": "simulated"},
            absent={"rapl": "not simulated"},
        )

    def _facts(self, gpu: Gpu) -> GpuFacts:
        return GpuFacts(
            index=gpu.index,
            name=GPU_NAME,
            uuid=f"GPU-simulated-{gpu.index}",
            memory_mb=MEMORY_MB,
            power_limit_w=POWER_LIMIT_W,
            mig=False,
            persistence=True,
            ecc=True,
            pcie="gen 5 x16",
            numa_node=gpu.index * 2 // max(len(self.gpus), 2),
            graphics_clock_mhz=BOOST_MHZ,
            graphics_clock_is_highest=True,
        )

    def _move(self, to_s: float) -> None:
        for gpu in self.gpus:
            gpu.advance(to_s - self.now_s)
        self.now_s = to_s

    def _sample(self) -> None:
        noise, load = self._random.gauss, self.host
        alone = load.rss_mb is None
        worker = None if alone else round(max(0.0, noise(load.worker, 1.5)), 1)
        engine, others = round(abs(noise(0.7, 0.2)), 1), max(0.0, noise(load.others, 0.15 * load.others))
        sample = {
            "cpu_percent": round(others + engine + (worker or 0.0), 1),
            "memory_used_mb": round(41_200 + (load.rss_mb or 0.0) + noise(0, 20), 1),
            "worker_cpu_percent": worker,
            "worker_rss_mb": None if load.rss_mb is None else round(load.rss_mb, 1),
            "engine_cpu_percent": engine,
        }
        self._at_s.append(round(self.now_s, 4))
        for name, value in sample.items():
            self._host.setdefault(name, []).append(value)
        for gpu in self.gpus:
            gpu.read()
        if len(self._at_s) == BATCH:
            self.flush()

    def _readings(self, gpu: Gpu) -> GpuReadings:
        columns, gpu.readings = gpu.readings, {}
        return GpuReadings(
            index=gpu.index,
            power_averaged=True,
            power_limit_w=POWER_LIMIT_W,
            memory_total_mb=MEMORY_MB,
            **columns,
        )

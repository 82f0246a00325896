"""The GPU as torch and its driver show it: workloads, readings, kernels, and waits of the host."""

import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any
from unittest import mock

import pynvml
import torch
from torch.profiler import ProfilerActivity, profile

from benchtui.engine.devices.base import Device
from benchtui.engine.devices.registry import open_device
from benchtui.engine.workloads.base import Workload
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.sweep import SYNTHETIC, Config, Generate, Measure, Sweep

_ATTENTION = re.compile(r"flash|fmha|attention|softmax", re.IGNORECASE)


def prepare(
    task: str, model: str | Path, dataset: str = SYNTHETIC, mode: str = "latency", **options: Any
) -> tuple[Workload, Device]:
    """Prepare a workload with random weights, as a worker does for a case."""
    config = Config(device="cuda:0", **({"precision": "bf16"} | options))
    rules: dict[str, Any] = {"measure": Measure(mode=mode), "generate": Generate(new_tokens=8)}  # type: ignore[arg-type]
    device = open_device(config.device)
    wanted = Sweep(name="first", model=str(model), weights="random", task=task, dataset=dataset, **rules)
    return make_workload(wanted, config, device), device


def run(workload: Workload, steps: int) -> None:
    """Run steps that don't count, and wait for the GPU."""
    for _ in range(steps):
        workload.step(_ignore)
    torch.cuda.synchronize()


def _ignore(part: str) -> None:
    """Ignore the parts of a step."""


def waits(work: Callable[[], object]) -> Counter[str]:
    """Count the places where the host waited for the GPU, as far as torch notices."""
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    noticed = (each for each in caught if "synchroniz" in str(each.message))
    return Counter(f"{Path(each.filename).name}:{each.lineno}" for each in noticed)


def graph_replays(workload: Workload) -> int:
    """Count the CUDA graphs that one step replays."""
    replay, count = torch.cuda.CUDAGraph.replay, 0

    def counted(graph: torch.cuda.CUDAGraph) -> None:
        nonlocal count
        count += 1
        replay(graph)

    with mock.patch.object(torch.cuda.CUDAGraph, "replay", counted):
        run(workload, 1)
    return count


@dataclass(frozen=True, slots=True)
class Profile:
    """Kernels, operators and runtime calls of some steps."""

    kernels: tuple[str, ...]
    calls: tuple[str, ...]
    """Operators of torch and calls of CUDA's runtime, on the host."""
    busy_ms: float
    """Time in which any kernel or copy ran."""

    @property
    def attention(self) -> tuple[str, ...]:
        """Attention operators of torch."""
        prefix = "aten::_scaled_dot_product_"
        return tuple(sorted({name.removeprefix(prefix) for name in self.calls if name.startswith(prefix)}))

    @property
    def attention_kernels(self) -> tuple[str, ...]:
        """Kernels that look like attention by name."""
        return tuple(sorted({name[:70] for name in self.kernels if _ATTENTION.search(name)}))


def profiled(workload: Workload, steps: int = 1, host: bool = True) -> Profile:
    """Run steps under the profiler; without ``host`` it records the GPU only, and disturbs less."""
    kinds = [ProfilerActivity.CUDA, *([ProfilerActivity.CPU] if host else [])]
    with profile(activities=kinds) as profiler:
        run(workload, steps)
    events = list(profiler.events() or ())
    work = [event for event in events if event.device_type.name == "CUDA"]
    spans = sorted((event.time_range.start, event.time_range.end) for event in work)
    busy_us, reached = 0.0, float("-inf")
    for begin, end in spans:
        busy_us += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    calls = tuple(event.name for event in events if event.device_type.name != "CUDA")
    return Profile(tuple(event.name for event in work), calls, busy_us / 1000 / steps)


@dataclass(frozen=True, slots=True)
class Reading:
    """Driver readings at one moment; None if one failed."""

    at_s: float
    clock_mhz: float | None
    instant_w: float | None
    average_w: float | None
    energy_j: float | None
    reasons: int | None


class Readings:
    """Thread that reads the driver all the time while work runs in the context."""

    def __init__(self, every_s: float) -> None:
        pynvml.nvmlInit()
        self.rows: list[Reading] = []
        self._handle, self._every_s = _handle(), every_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "Readings":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def between(self, begin_s: float, end_s: float) -> list[Reading]:
        """Return the readings of a span of the monotonic clock."""
        return [row for row in self.rows if begin_s <= row.at_s <= end_s]

    def limit_w(self) -> float | None:
        """Return the enforced power limit."""
        milliwatts = _tried(pynvml.nvmlDeviceGetEnforcedPowerLimit, self._handle)
        return None if milliwatts is None else milliwatts / 1000

    def most_mhz(self) -> float | None:
        """Return the highest clock in the table of the GPU."""
        return _tried(pynvml.nvmlDeviceGetMaxClockInfo, self._handle, pynvml.NVML_CLOCK_SM)

    def used_mb(self) -> float | None:
        """Return the memory in use on the whole GPU."""
        memory = _tried(pynvml.nvmlDeviceGetMemoryInfo, self._handle)
        return None if memory is None else memory.used / 1e6

    def process_mb(self, pid: int) -> float | None:
        """Return the memory of a process on the GPU; None if the driver doesn't list it."""
        listed = _tried(pynvml.nvmlDeviceGetComputeRunningProcesses, self._handle) or ()
        used = [each.usedGpuMemory for each in listed if each.pid == pid and each.usedGpuMemory]
        return used[0] / 1e6 if used else None

    def _read(self) -> None:
        while not self._done.wait(self._every_s):
            self.rows.append(self._row())

    def _row(self) -> Reading:
        handle = self._handle
        average = _tried(pynvml.nvmlDeviceGetPowerUsage, handle)
        energy = _tried(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle)
        return Reading(
            at_s=monotonic(),
            clock_mhz=_tried(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
            instant_w=_instant_w(handle),
            average_w=None if average is None else average / 1000,
            energy_j=None if energy is None else energy / 1000,
            reasons=_tried(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle),
        )


def reason_names(bits: int) -> list[str]:
    """Return pynvml's names of the reasons that hold the clock down."""
    prefix = "nvmlClocksThrottleReason"
    known = {
        name.removeprefix(prefix): getattr(pynvml, name) for name in dir(pynvml) if name.startswith(prefix)
    }
    return sorted(
        name for name, bit in known.items() if isinstance(bit, int) and bit & (bit - 1) == 0 and bit & bits
    )


def _handle() -> Any:
    """Return the driver's handle of cuda:0, found by UUID; the only GPU if torch doesn't know one."""
    wanted = str(torch.cuda.get_device_properties(0).uuid)
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    found = [handle for handle in handles if wanted in str(pynvml.nvmlDeviceGetUUID(handle))]
    if not found and len(handles) > 1:
        raise LookupError(f"the driver lists {len(handles)} GPUs, and none of them has torch's UUID {wanted}")
    return (found or handles)[0]


def _instant_w(handle: object) -> float | None:
    value = None
    with suppress(pynvml.NVMLError, AttributeError):
        value = pynvml.nvmlDeviceGetFieldValues(handle, [pynvml.NVML_FI_DEV_POWER_INSTANT])[0]
    return value.value.uiVal / 1000 if value is not None and value.nvmlReturn == pynvml.NVML_SUCCESS else None


def _tried(function: Callable[..., Any], *arguments: object) -> Any:
    """Return what the driver answers, or None where it has no answer."""
    try:
        return function(*arguments)
    except pynvml.NVMLError:
        return None

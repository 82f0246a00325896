"""Peak rates of a device: matrix products and memory copies, in a separate process."""

from collections.abc import Callable
from statistics import median
from time import monotonic, sleep
from typing import NamedTuple

import torch

from benchtui.engine.devices.base import Device, Lap
from benchtui.engine.devices.failure import result_or_reason
from benchtui.engine.devices.registry import open_device
from benchtui.engine.job import PeaksReport
from benchtui.engine.models import precision
from benchtui.engine.worker import isolation
from benchtui.sessions.events import Peaks

SETTLE_S, IDLE_S = 0.5, 1.25
"""Seconds for the power to settle after a context is created, and seconds for reading it: five samples."""
WARMUP_MS = {"cpu": 0.0, "cuda": 1000.0}
"""Time of the warm-up runs. A GPU starts at boost clock and slows down to what its power limit allows."""
MEASURED_MS = {"cpu": 300.0, "cuda": 1000.0}
BLOCK_MS, LEAST_RUNS = 50.0, 3
"""Time of runs between two synchronizations, so that the device is never idle, and minimum number of runs."""
SMALLEST, LARGEST = 256, 16_384
"""Limits for the number of matrix rows, which doubles until a product is large enough for the device or takes
``SLOW_MS``."""
LARGE = {"cpu": 2048, "cuda": 8192}
QUICK_MS, SLOW_MS = 5.0, 250.0
COPIED = {"cpu": 256_000_000, "cuda": 1_000_000_000}
"""Bytes per copy: more than caches hold, except those of the largest processors."""


class PeakRate(NamedTuple):
    """Peak rate."""

    sustained: float
    """Per second, by the median run."""
    burst: float
    """Per second, by the fastest run."""
    how: str
    """How it was measured."""


def main(device: str, kind: str, threads: int, idle_first: bool = False) -> PeaksReport:
    """Measure both peaks, isolated like a case. With ``idle_first``, first pause with a context on a GPU."""
    isolation.isolate()
    on_gpu = device != "cpu"
    uuid = open_gpu(device) if on_gpu else None
    idle_span_s = idle_with_context(device) if on_gpu and idle_first else None
    begin_s = monotonic()
    peaks = measure(device, kind, threads)
    busy_span_s = (begin_s, monotonic())
    return PeaksReport(peaks=peaks, gpu_uuid=uuid, idle_span_s=idle_span_s, busy_span_s=busy_span_s)


def open_gpu(name: str) -> str | None:
    """Open a GPU and return its UUID; None if that fails."""
    try:
        return open_device(name).uuid
    except Exception:  # noqa: BLE001  (measuring the peaks fails in the same way, and reports it)
        return None


def idle_with_context(name: str) -> tuple[float, float] | None:
    """Create a context on a GPU and stay idle. Return start and end of the pause; None if that fails."""
    try:
        torch.zeros(1, device=open_device(name).torch_device).cpu()
    except Exception:  # noqa: BLE001  (as above)
        return None
    sleep(SETTLE_S)
    begin_s = monotonic()
    sleep(IDLE_S)
    return begin_s, monotonic()


def measure(name: str, kind: str, threads: int) -> Peaks:
    """Measure both peaks of a device in this precision. ``absent`` has the reason for a missing one."""
    precision.set_tf32(kind)
    if threads:
        torch.set_num_threads(threads)
    measurements: dict[str, Callable[[], PeakRate]] = {
        "flops": lambda: product(open_device(name), precision.weights_dtype(kind)),
        "bytes": lambda: copy(open_device(name)),
    }
    results = {what: result_or_reason(name, measure_rate) for what, measure_rate in measurements.items()}
    rates = {what: result for what, result in results.items() if not isinstance(result, str)}
    flops, moved = rates.get("flops"), rates.get("bytes")
    return Peaks(
        t=0.0,
        device=name,
        precision=kind,
        threads=threads,
        flops_per_s=flops and flops.sustained,
        bytes_per_s=moved and moved.sustained,
        flops_burst_per_s=flops and flops.burst,
        bytes_burst_per_s=moved and moved.burst,
        how={what: result.how for what, result in rates.items()},
        absent={what: result for what, result in results.items() if isinstance(result, str)},
    )


def product(device: Device, dtype: torch.dtype) -> PeakRate:
    """Operations per second in products of two large random square matrices."""
    size = SMALLEST
    while True:
        multiply = _multiply(device.torch_device, dtype, size)
        took_ms = min(_once_ms(device, multiply) for _ in range(2))
        if took_ms >= SLOW_MS or size >= LARGEST:
            break
        if size >= LARGE[device.torch_device.type] and took_ms >= QUICK_MS:
            break
        size *= 2
    return _rate(device, multiply, 2 * size**3, f"product of two {size:,} x {size:,} matrices")


def copy(device: Device) -> PeakRate:
    """Bytes read and written per second by copies of a large tensor."""
    size = COPIED[device.torch_device.type]
    source = torch.ones(size // 4, device=device.torch_device)
    target = torch.zeros_like(source)
    return _rate(device, lambda: target.copy_(source), 2 * size, f"copy of {size // 10**6:,} MB")


def _multiply(device: torch.device, dtype: torch.dtype, size: int) -> Callable[[], object]:
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    result = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=result)


def _rate(device: Device, run: Callable[[], object], amount: float, what: str) -> PeakRate:
    """Return the rate of ``amount`` per run, and how it was measured."""
    kind = device.torch_device.type
    steps = max(1, int(BLOCK_MS / max(_once_ms(device, run), BLOCK_MS / 1000)))
    _times_ms(device, run, steps, WARMUP_MS[kind])
    times_ms = _times_ms(device, run, steps, MEASURED_MS[kind])
    after = f" after {WARMUP_MS[kind] / 1000:g} s" if WARMUP_MS[kind] else ""
    sustained, burst = (amount / each_ms * 1000 for each_ms in (median(times_ms), min(times_ms)))
    return PeakRate(sustained, burst, f"{what}, median of {len(times_ms)}{after}")


def _times_ms(device: Device, run: Callable[[], object], steps: int, least_ms: float) -> list[float]:
    """Run blocks of ``steps`` runs for at least ``least_ms`` in total. Return the time of each run."""
    times_ms: list[float] = []
    while sum(times_ms) < least_ms or (least_ms and len(times_ms) < LEAST_RUNS):
        times_ms += [time.device_or_host_ms for time, _ in device.time_block(_step(run), steps)]
    return times_ms


def _once_ms(device: Device, run: Callable[[], object]) -> float:
    time, _ = device.time(_step(run))
    return time.device_or_host_ms


def _step(run: Callable[[], object]) -> Callable[[Lap], None]:
    def step(lap: Lap) -> None:
        run()
        lap("run")

    return step

"""Peak rates of a device: its fastest matrix product and memory copy, in a separate process."""

from collections.abc import Callable

import torch

from benchtui.engine.devices import oom
from benchtui.engine.devices.base import Device, Lap
from benchtui.engine.devices.registry import open_device
from benchtui.engine.exception_text import described, text_of
from benchtui.engine.models import precision
from benchtui.engine.worker import isolation
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Peaks

BUDGET_MS, MAX_RUNS = 300.0, 100
"""Limits for finding the fastest run: total time and number of runs."""
SMALLEST, LARGEST = 256, 16_384
"""Matrix rows. Doubled until a product is large enough for the device, or takes ``SLOW_MS``."""
LARGE = {"cpu": 2048, "cuda": 8192}
QUICK_MS, SLOW_MS = 5.0, 250.0
COPIED = {"cpu": 256_000_000, "cuda": 1_000_000_000}
"""Bytes per copy: more than caches hold, except those of the largest processors."""
_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}

Measured = tuple[float, str]
"""Rate per second, and a description of how it was measured."""


def main(device: str, kind: str, threads: int) -> Peaks:
    """Measure both peaks, isolated as cases are."""
    isolation.isolate()
    return measure(device, kind, threads)


def measure(name: str, kind: str, threads: int) -> Peaks:
    """Measure both peaks of a device in this precision. ``absent`` has the reason for a missing one."""
    precision.set_tf32(kind)
    if threads:
        torch.set_num_threads(threads)
    measurements: dict[str, Callable[[Device], Measured]] = {
        "flops": lambda device: product(device, _DTYPES.get(kind, torch.float32)),
        "bytes": copy,
    }
    found = {what: _result_or_reason(name, measure_rate) for what, measure_rate in measurements.items()}
    known = {what: each for what, each in found.items() if not isinstance(each, str)}
    return Peaks(
        t=0.0,
        device=name,
        precision=kind,
        threads=threads,
        flops_per_s=known["flops"][0] if "flops" in known else None,
        bytes_per_s=known["bytes"][0] if "bytes" in known else None,
        how={what: words for what, (_, words) in known.items()},
        absent={what: each for what, each in found.items() if isinstance(each, str)},
    )


def product(device: Device, dtype: torch.dtype) -> Measured:
    """Operations per second of the fastest product of two large random square matrices."""
    size = SMALLEST
    while True:
        multiply = _multiply(device.torch_device, dtype, size)
        took_ms = min(_once_ms(device, multiply) for _ in range(2))
        if took_ms >= SLOW_MS or size >= LARGEST:
            break
        if size >= LARGE[device.torch_device.type] and took_ms >= QUICK_MS:
            break
        size *= 2
    best_ms, runs = _fastest_ms(device, multiply)
    return 2 * size**3 / best_ms * 1000, f"product of two {size:,} x {size:,} matrices, fastest of {runs}"


def copy(device: Device) -> Measured:
    """Bytes read and written per second by the fastest copy of a large tensor."""
    size = COPIED[device.torch_device.type]
    source = torch.ones(size // 4, device=device.torch_device)
    target = torch.zeros_like(source)
    best_ms, runs = _fastest_ms(device, lambda: target.copy_(source))
    return 2 * size / best_ms * 1000, f"copy of {size // 10**6:,} MB, fastest of {runs}"


def _multiply(device: torch.device, dtype: torch.dtype, size: int) -> Callable[[], object]:
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    result = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=result)


def _fastest_ms(device: Device, run: Callable[[], object]) -> tuple[float, int]:
    """Return the fastest of several runs after a warm-up run, and their number."""
    _once_ms(device, run)
    times_ms = [_once_ms(device, run)]
    while len(times_ms) < 3 or (sum(times_ms) < BUDGET_MS and len(times_ms) < MAX_RUNS):
        times_ms.append(_once_ms(device, run))
    return min(times_ms), len(times_ms)


def _once_ms(device: Device, run: Callable[[], object]) -> float:
    def step(lap: Lap) -> None:
        run()
        lap("run")

    time, _ = device.time(step)
    return time.wall_ms if time.device_ms is None else time.device_ms


def _result_or_reason(name: str, measure_rate: Callable[[Device], Measured]) -> Measured | str:
    try:
        return measure_rate(open_device(name))
    except BenchtuiError as error:
        return text_of(error)
    except Exception as error:  # noqa: BLE001  (separate process: whatever torch raises is the reason for a missing peak)
        return oom.reason(name, error) or described(error)

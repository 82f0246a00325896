from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch

from benchtui.engine.devices.base import Lap, StepTime
from benchtui.engine.worker import peak_rates
from benchtui.engine.worker.peak_rates import LARGE, LARGEST, PeakRate, copy, measure, product
from benchtui.sessions.events import Peaks


class Device:
    """A device that multiplies at so many operations a millisecond, by its own clock, read at a part's end."""

    torch_device = torch.device("cpu")

    def __init__(self, monkeypatch: pytest.MonkeyPatch, flops_per_ms: float) -> None:
        self._rate = flops_per_ms
        self._slower = 2.0
        self.size = 0
        monkeypatch.setattr(peak_rates, "_multiply", self._remember)

    def _remember(self, device: torch.device, dtype: torch.dtype, size: int) -> Callable[[], object]:
        self.size = size
        return lambda: None

    def time(self, step: Callable[[Lap], object]) -> tuple[StepTime, object]:
        self._slower = max(1.0, self._slower * 0.9)
        device_ms = 2 * self.size**3 / self._rate * self._slower
        parts: list[str] = []
        done = step(parts.append)
        return StepTime(1e9, device_ms if parts else 0.0, {}), done

    def time_block(self, step: Callable[[Lap], object], steps: int) -> list[tuple[StepTime, object]]:
        return [self.time(step) for _ in range(steps)]


@pytest.mark.parametrize(
    ("flops_per_ms", "size"), [(2e8, LARGE["cpu"]), (2e10, 2 * LARGE["cpu"]), (1e3, 256), (1e18, LARGEST)]
)
def test_matrix_product_is_large_enough_for_the_device(
    monkeypatch: pytest.MonkeyPatch, flops_per_ms: float, size: int
) -> None:
    monkeypatch.setitem(peak_rates.MEASURED_MS, "cpu", 1e-3)
    device: Any = Device(monkeypatch, flops_per_ms)
    rate, burst, words = product(device, torch.float32)
    assert device.size == size
    assert words.startswith(f"product of two {size:,} x {size:,} matrices, median of ")
    assert flops_per_ms * 1000 * 0.5 <= rate <= burst <= flops_per_ms * 1000 * 1.001


def test_sustained_rate_is_the_median_after_a_second_on_a_gpu() -> None:
    class Gpu:
        """A GPU whose copies take 10 ms for a second and 20 ms from then on, but for one of 16 ms."""

        torch_device = torch.device("cuda:0")
        now_ms = 0.0
        blocks: ClassVar[list[int]] = []

        def time(self, step: Callable[[Lap], object]) -> tuple[StepTime, object]:
            took_ms = 10.0 if self.now_ms < 1000 else 16.0 if 1500 <= self.now_ms < 1516 else 20.0
            self.now_ms += took_ms
            return StepTime(1e9, took_ms, {}), step(lambda part: None)

        def time_block(self, step: Callable[[Lap], object], steps: int) -> list[tuple[StepTime, object]]:
            self.blocks.append(steps)
            return [self.time(step) for _ in range(steps)]

    gpu: Any = Gpu()
    found = peak_rates._rate(gpu, lambda: None, 1e9, "copy")
    assert (found.sustained, found.burst) == (1e9 / 0.020, 1e9 / 0.016)
    assert found.how.startswith("copy, median of ") and found.how.endswith(" after 1 s")
    assert set(gpu.blocks) == {5}, "runs follow each other for 50 ms without a gap"


def test_copy_counts_bytes_read_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        torch_device = torch.device("cpu")

        def time(self, step: Callable[[Lap], object]) -> tuple[StepTime, object]:
            return StepTime(200.0, None, {}), step(lambda part: None)

        def time_block(self, step: Callable[[Lap], object], steps: int) -> list[tuple[StepTime, object]]:
            return [self.time(step) for _ in range(steps)]

    monkeypatch.setitem(peak_rates.COPIED, "cpu", 4_000_000)
    device: Any = Clock()
    rate = pytest.approx(2 * 4_000_000 / 0.2)
    assert copy(device) == (rate, rate, "copy of 4 MB, median of 3")


def test_cpu_has_both_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(peak_rates.LARGE, "cpu", 256)
    monkeypatch.setattr(peak_rates, "QUICK_MS", 0.0)
    monkeypatch.setitem(peak_rates.MEASURED_MS, "cpu", 1.0)
    monkeypatch.setitem(peak_rates.COPIED, "cpu", 1_000_000)
    found = measure("cpu", "bf16", 0)
    assert (found.device, found.precision, found.threads, found.absent) == ("cpu", "bf16", 0, {})
    assert found.flops_per_s is not None and found.flops_per_s > 1e6
    assert found.bytes_per_s is not None and found.bytes_per_s > 1e6
    assert set(found.how) == {"flops", "bytes"}


def test_failed_peak_is_absent_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(device: object) -> None:
        raise RuntimeError("no such product\nat all")

    monkeypatch.setattr(peak_rates, "copy", lambda device: PeakRate(1e9, 2e9, "copied"))
    monkeypatch.setattr(peak_rates, "product", lambda device, dtype: broken(device))
    found = measure("cpu", "fp16", 0)
    assert (found.flops_per_s, found.bytes_per_s, found.bytes_burst_per_s) == (None, 1e9, 2e9)
    assert (found.how, found.absent) == ({"bytes": "copied"}, {"flops": "RuntimeError: no such product"})


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_missing_device_has_no_peaks() -> None:
    found = measure("cuda:0", "fp32", 0)
    assert found.absent.keys() == {"flops", "bytes"}
    assert found.absent["flops"].startswith("no cuda:0 on this machine")


def test_pause_begins_once_there_is_a_context_and_power_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    device = SimpleNamespace(torch_device=torch.device("cpu"), uuid="GPU-1")
    monkeypatch.setattr(peak_rates, "open_device", lambda name: device)
    monkeypatch.setattr(peak_rates, "sleep", slept.append)
    monkeypatch.setattr(peak_rates, "monotonic", lambda: sum(slept))
    begin_s, end_s = peak_rates.SETTLE_S, peak_rates.SETTLE_S + peak_rates.IDLE_S
    assert peak_rates.idle_with_context("cuda:0") == (begin_s, end_s)


def test_gpu_of_all_peaks_is_named_so_that_their_clock_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimpleNamespace(torch_device=torch.device("cpu"), uuid="GPU-1")
    monkeypatch.setattr(peak_rates.isolation, "isolate", lambda: None)
    monkeypatch.setattr(peak_rates, "open_device", lambda name: device)
    monkeypatch.setattr(peak_rates, "measure", lambda *key: Peaks(t=0.0, device="cuda:0", precision="bf16"))
    report = peak_rates.main("cuda:0", "bf16", 0, idle_first=False)
    assert (report.gpu_uuid, report.idle_span_s) == ("GPU-1", None)
    assert report.busy_span_s is not None

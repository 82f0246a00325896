from collections.abc import Callable
from typing import Any

import pytest
import torch

from benchtui.engine.devices.base import Lap, StepTime
from benchtui.engine.worker import peak_rates
from benchtui.engine.worker.peak_rates import LARGE, LARGEST, copy, measure, product


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


@pytest.mark.parametrize(
    ("flops_per_ms", "size"),
    [
        (2e8, LARGE["cpu"]),
        (2e10, 2 * LARGE["cpu"]),
        (1e3, 256),
        (1e18, LARGEST),
    ],
)
def test_matrix_product_is_large_enough_for_the_device(
    monkeypatch: pytest.MonkeyPatch, flops_per_ms: float, size: int
) -> None:
    device: Any = Device(monkeypatch, flops_per_ms)
    rate, words = product(device, torch.float32)
    assert device.size == size
    assert words.startswith(f"product of two {size:,} x {size:,} matrices, fastest of ")
    assert flops_per_ms * 1000 * 0.5 <= rate <= flops_per_ms * 1000 * 1.001


def test_copy_counts_bytes_read_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        torch_device = torch.device("cpu")

        def time(self, step: Callable[[Lap], object]) -> tuple[StepTime, object]:
            return StepTime(200.0, None, {}), step(lambda part: None)

    monkeypatch.setitem(peak_rates.COPIED, "cpu", 4_000_000)
    device: Any = Clock()
    assert copy(device) == (pytest.approx(2 * 4_000_000 / 0.2), "copy of 4 MB, fastest of 3")


def test_cpu_has_both_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(peak_rates.LARGE, "cpu", 256)
    monkeypatch.setattr(peak_rates, "QUICK_MS", 0.0)
    monkeypatch.setattr(peak_rates, "BUDGET_MS", 1.0)
    monkeypatch.setitem(peak_rates.COPIED, "cpu", 1_000_000)
    found = measure("cpu", "bf16", 0)
    assert (found.device, found.precision, found.threads, found.absent) == ("cpu", "bf16", 0, {})
    assert found.flops_per_s is not None and found.flops_per_s > 1e6
    assert found.bytes_per_s is not None and found.bytes_per_s > 1e6
    assert set(found.how) == {"flops", "bytes"}


def test_failed_peak_is_absent_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(device: object) -> None:
        raise RuntimeError("no such product\nat all")

    monkeypatch.setattr(peak_rates, "copy", lambda device: (1e9, "copied"))
    monkeypatch.setattr(peak_rates, "product", lambda device, dtype: broken(device))
    found = measure("cpu", "fp16", 0)
    assert (found.flops_per_s, found.bytes_per_s) == (None, 1e9)
    assert (found.how, found.absent) == ({"bytes": "copied"}, {"flops": "RuntimeError: no such product"})


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_missing_device_has_no_peaks() -> None:
    found = measure("cuda:0", "fp32", 0)
    assert found.absent.keys() == {"flops", "bytes"}
    assert found.absent["flops"].startswith("cuda:0: no such device")

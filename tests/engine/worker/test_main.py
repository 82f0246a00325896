from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.worker import main
from benchtui.sessions.payloads import Memory
from benchtui.sessions.sweep import Config


@pytest.mark.parametrize(("mode", "allocated_mb"), [("default", 9.0), ("reduce-overhead", None)])
def test_allocated_peak_under_cuda_graphs_is_absent(mode: str, allocated_mb: float | None) -> None:
    job: Any = SimpleNamespace(config=Config(device="cuda:0", compile=mode))
    device: Any = SimpleNamespace(memory_peaks=lambda: Memory(peak_allocated_mb=9.0, peak_reserved_mb=20.0))
    workload: Any = SimpleNamespace(kv_cache_mb=None)
    found = main._Case(job, lambda event: None)._memory(device, workload)
    assert (found.peak_allocated_mb, found.peak_reserved_mb) == (allocated_mb, 20.0)

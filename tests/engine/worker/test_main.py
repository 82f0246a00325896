from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.worker import main
from benchtui.sessions.payloads import Compiling, Memory
from benchtui.sessions.sweep import Config


@pytest.mark.parametrize(
    ("mode", "recorded", "allocated_mb"),
    [
        ("default", None, 9.0),
        ("reduce-overhead", 3, None),
        ("reduce-overhead", 0, 9.0),  # torch skipped them all
        ("reduce-overhead", None, None),  # this release of torch doesn't count them
    ],
)
def test_allocated_peak_is_absent_if_cuda_graphs_were_recorded(
    mode: str, recorded: int | None, allocated_mb: float | None
) -> None:
    job: Any = SimpleNamespace(config=Config(device="cuda:0", compile=mode))
    device: Any = SimpleNamespace(memory_peaks=lambda: Memory(peak_allocated_mb=9.0, peak_reserved_mb=20.0))
    workload: Any = SimpleNamespace(kv_cache_mb=None)
    compiling = Compiling(graphs=1, graph_breaks=0, recompiles=0, cuda_graphs=recorded)
    found = main._Case(job, lambda event: None)._memory(device, workload, compiling)
    assert (found.peak_allocated_mb, found.peak_reserved_mb) == (allocated_mb, 20.0)

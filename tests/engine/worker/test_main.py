from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.devices import process_memory
from benchtui.engine.job import Job, StepCostReport
from benchtui.engine.worker import main
from benchtui.sessions.events import Answered, CaseFinished, CasePrepared, Steps
from benchtui.sessions.payloads import Compiling, Memory
from benchtui.sessions.sweep import Config, Sweep, cases


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
    job: Any = SimpleNamespace(config=Config(device="cuda:0", compile=mode), turns=None)
    device: Any = SimpleNamespace(memory_peaks=lambda: Memory(peak_allocated_mb=9.0, peak_reserved_mb=20.0))
    workload: Any = SimpleNamespace(kv_cache_mb=None)
    compiling = Compiling(graphs=1, graph_breaks=0, recompiles=0, cuda_graphs=recorded)
    found = main._Case(job, lambda event: None)._memory(device, workload, compiling)
    assert (found.peak_allocated_mb, found.peak_reserved_mb) == (allocated_mb, 20.0)


def test_peaks_of_torch_are_absent_for_another_backend() -> None:
    config = Config(device="cuda:0", backend="onnxruntime")
    job: Any = SimpleNamespace(config=config, turns=None)
    device: Any = SimpleNamespace(memory_peaks=lambda: Memory(peak_allocated_mb=9.0, peak_rss_mb=20.0))
    workload: Any = SimpleNamespace(kv_cache_mb=None)
    found = main._Case(job, lambda event: None)._memory(device, workload, None)
    assert (found.peak_allocated_mb, found.peak_reserved_mb, found.peak_rss_mb) == (None, None, 20.0)


def test_case_whose_preloaded_library_is_missing_is_skipped(own: Callable[..., Sweep]) -> None:
    """Without it, the case would measure glibc's allocator under the name of another one."""
    sweep, sent = own("raise AssertionError"), list[Any]()
    config = Config(device="cpu", env="LD_PRELOAD=libabsent.so.9")
    main._Case(Job(case=0, config=config, sweep=sweep, zero_s=0.0, scratch=""), sent.append).run()
    (ended,) = sent
    assert (ended.outcome, ended.reason) == (
        "skipped",
        "LD_PRELOAD: libabsent.so.9 can't be loaded; is it installed?",
    )


@pytest.mark.parametrize("answers", [True, False])
def test_probe_runs_after_all_that_is_measured(
    own: Callable[..., Sweep], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    """What the answer allocates is in no recorded peak, and its time in no step."""
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.setenv(name, "")
    body = "step = Step(lambda: None)\nstep.answer = lambda: torch.ones(100_000_000).sum()\nreturn step"
    sweep = own(body, f"answers={str(answers).lower()}", "iterations=3")
    (case,) = cases(sweep)
    sent: list[Any] = []
    scratch = str(tmp_path / "case-0")
    main._Case(Job(case=0, config=case.config, sweep=sweep, zero_s=0.0, scratch=scratch), sent.append).run()
    kinds = [CasePrepared, Steps, CaseFinished, *([Answered] if answers else []), StepCostReport]
    assert list(dict.fromkeys(type(event) for event in sent)) == kinds
    finished = next(event for event in sent if isinstance(event, CaseFinished))
    now_mb = process_memory.peak_mb()
    assert finished.memory is not None and finished.memory.peak_rss_mb is not None
    assert (now_mb - finished.memory.peak_rss_mb > 300) is answers  # of the 400 MB that the answer took

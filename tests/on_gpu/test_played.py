"""What only a played GPU can tell: who touched it, and how it is where there are two."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchtui.sessions.state.session import Session

pytestmark = pytest.mark.long
Measure = Callable[..., Session]


def test_process_that_used_the_gpu_is_never_forked(measure: Measure, tmp_path: Path) -> None:
    notes, texts = tmp_path / "notes", tmp_path / "texts.txt"
    texts.write_text("good film\n" * 50)
    measure(
        "quick",
        "device=cuda:0",
        f"dataset={texts}",
        "batch_size=1,2",
        "sequence_length=32",
        PLAYED_GPU_NOTES=str(notes),
    )
    lines = notes.read_text().splitlines()
    assert len(lines) >= 4, "torch's question, the peaks, and two cases"
    assert all(line.endswith(" touched") for line in lines)
    assert len(set(lines)) == len(lines)


def test_cases_on_two_gpus_run_in_parallel(measure: Measure) -> None:
    session = measure(
        "quick",
        "device=cuda:*",
        "run.parallel=true",
        "precision=fp16",
        "batch_size=1,8",
        PLAYED_GPUS="2",
        FAKE_NVML_GPUS="2",
    )
    assert {case.state for case in session.cases} == {"ok"}
    assert {case.config.device for case in session.cases} == {"cuda:0", "cuda:1"}
    uuids = {case.prepared.gpu_uuid for case in session.cases if case.prepared}
    assert uuids == {gpu.uuid for gpu in session.start.host.gpus}

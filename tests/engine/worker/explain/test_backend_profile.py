"""Profiles of backends, by their own counters."""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchtui.engine.devices.base import StepTime
from benchtui.engine.devices.registry import open_device
from benchtui.engine.models.backends.base import Kernel, Loaded
from benchtui.engine.models.backends.open_vino import Counters
from benchtui.engine.worker.explain.backend_profile import break_down, profile_backend
from benchtui.engine.worker.explain.families import family_of_operation
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.library.artifacts import VARIABLE
from benchtui.sessions.sweep import cases
from benchtui.sessions.sweep.toml_reader import parse_sweep

pytestmark = pytest.mark.runtimes


@pytest.mark.parametrize(
    ("backend", "product", "shape"), [("onnxruntime", "MatMul", " float"), ("openvino", "FullyConnected", None)]
)
def test_operations_of_a_backend_are_its_kernels(
    backend: str, product: str, shape: str | None, tiny_model: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "artifacts"))
    text = f'model = "{tiny_model}"\nweights = "random"\ntask = "embed"\n'
    sweep = parse_sweep(text, "test", (f"backend={backend}", "batch_size=2", "sequence_length=16"), "tiny")
    (case,) = cases(sweep)
    workload: Any = make_workload(sweep, case.config, open_device("cpu"))
    profile = profile_backend(workload, workload.opened, open_device("cpu"), tmp_path / "scratch")
    kernels = {kernel.name: kernel for kernel in profile.kernels}
    assert kernels[product].family == "matmul"
    assert kernels[product].count == pytest.approx(round(kernels[product].count))
    assert (kernels[product].shape or "").endswith(shape or "")
    assert {"matmul", "elementwise", "gather", "python"} <= {family.family for family in profile.families}
    assert sum(family.ms for family in profile.families) == pytest.approx(profile.step_ms, rel=1e-3)
    assert profile.versions[backend]
    assert profile.absent == {"memory": f"torch doesn't see the memory of {backend}"}
    assert not list((tmp_path / "scratch").iterdir())
    assert workload.opened.run is workload.opened.loaded.run


def test_backend_without_a_profile_is_one_opaque_call(tmp_path: Path) -> None:
    plain = Loaded(run=lambda inputs: torch.ones(1), threads=1, weights_dtype="", computed_dtype="", runtime={})
    opened: Any = SimpleNamespace(backend="aoti", load=lambda folder: plain)
    with pytest.raises(CaseSkippedError, match="aoti runs a step in one opaque call, and has no profile of it"):
        profile_backend(None, opened, None, tmp_path)  # type: ignore[arg-type]


def test_counters_of_openvino_are_means_over_all_inferences() -> None:
    """The first inference took 9 ms, the two others 3 ms each: means of 9, 6 and 5 ms."""
    node = SimpleNamespace(node_name="a", node_type="MatMul", status="Status.EXECUTED", real_time=None)
    counters = Counters(SimpleNamespace(get_profiling_info=lambda: [node]))
    for mean_ms in (9, 6, 5):
        node.real_time = timedelta(milliseconds=mean_ms)
        counters.count()
    assert [(kernel.kind, round(kernel.ms, 6)) for kernel in counters.kernels()] == [("MatMul", 3.0)] * 2


def test_time_outside_of_operations_is_the_tokenizers_or_pythons() -> None:
    steps = [StepTime(10.0, None, {"tokenize": 2.0}), StepTime(12.0, None, {"tokenize": 2.0})]
    found = break_down(steps, [Kernel("MatMul", 5.0), Kernel("MatMul", 5.0), Kernel("Add", 2.0)])
    assert {family.family: family.ms for family in found.families} == {
        "matmul": 5.0,
        "python": 3.0,
        "tokenizer": 2.0,
        "elementwise": 1.0,
    }
    assert found.launches == 1.5
    assert [(kernel.name, kernel.count, kernel.ms) for kernel in found.kernels] == [
        ("MatMul", 1.0, 5.0),
        ("Add", 0.5, 1.0),
    ]


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("FusedMatMul", "matmul"),
        ("Gemm", "matmul"),
        ("Convolution", "matmul"),
        ("Convert", "copy"),
        ("MultiHeadAttention", "attention"),
        ("ScaledDotProductAttention", "attention"),
        ("SkipLayerNormalization", "elementwise"),
        ("EmbedLayerNormalization", "gather"),
        ("Where", "elementwise"),
        ("Shape", "other"),
        ("Transpose", "copy"),
    ],
)
def test_family_of_an_operation(kind: str, family: str) -> None:
    assert family_of_operation(kind) == family

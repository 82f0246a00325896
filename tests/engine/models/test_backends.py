"""Networks run by other engines: answers, what is read back, and artifacts under faults."""

import errno
import os
import re
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from benchtui.engine.device_support import has_instructions
from benchtui.engine.devices.registry import open_device
from benchtui.engine.models.backends import artifacts, open_vino, opening
from benchtui.engine.models.backends.onnx_runtime import OnnxRuntime, fallback_marks
from benchtui.engine.worker import step_cost
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.analysis.answers import EXACT, compare
from benchtui.sessions.analysis.applied_options import unapplied_options
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.library.artifacts import VARIABLE
from benchtui.sessions.payloads import Artifact
from benchtui.sessions.sweep import cases
from benchtui.sessions.sweep.toml_reader import parse_sweep

pytestmark = pytest.mark.runtimes
OPTIONS = ("batch_size=2", "sequence_length=16", "dataset=synthetic")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the artifacts."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "artifacts"))
    return tmp_path / "artifacts"


def answers(workload: Any) -> Any:
    return workload.answer(0.0).values.numpy()


def made(model: Path, *overrides: str, task: str = "embed") -> Any:
    text = f'model = "{model}"\nweights = "random"\ntask = "{task}"\n'
    sweep = parse_sweep(text, "test", (*OPTIONS, *overrides), "tiny")
    (case,) = cases(sweep)
    assert case.skip is None
    return make_workload(sweep, case.config, open_device("cpu"))


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("task", ["embed", "classify"])
def test_backend_answers_as_torch_and_its_artifact_is_used_again(
    backend: str, task: str, tiny_model: Path
) -> None:
    expected = made(tiny_model, task=task).answer(0.0).values
    first = made(tiny_model, f"backend={backend}", task=task)
    assert torch.allclose(first.answer(0.0).values, expected, atol=1e-5)
    assert first.effective.others["backend"] == backend
    assert first.effective.threads == torch.get_num_threads()
    assert first.effective.weights_dtype == first.effective.output_dtype == "float32"
    assert first.effective.runtime["affinity"] == "not set"
    assert first.opened.artifact.size_mb > 0
    assert not first.opened.artifact.stored
    longer = made(tiny_model, f"backend={backend}", "batch_size=1", "sequence_length=9", task=task)
    assert longer.opened.artifact.stored
    assert longer.opened.artifact.convert_s == first.opened.artifact.convert_s
    longer.step(lambda part: None)


@pytest.mark.long
def test_network_compiled_ahead_of_time_answers_as_torch(tiny_model: Path) -> None:
    expected, workload = answers(made(tiny_model)), made(tiny_model, "backend=aoti")
    assert compare("embeddings", expected, answers(workload), EXACT)["verdict"] in ("identical", "close")
    assert workload.effective.weights_dtype == "float32"


def test_export_that_changes_the_answer_is_broken(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = opening._exported

    def changed(network: Any, inputs: dict[str, torch.Tensor], output: str) -> Any:
        other = deepcopy(network)
        for weights in other.parameters():
            torch.nn.init.normal_(weights)
        return plain(other, inputs, output)

    expected = answers(made(tiny_model))
    monkeypatch.setattr(opening, "_exported", changed)
    found = answers(made(tiny_model, "backend=onnxruntime"))
    assert compare("embeddings", expected, found, EXACT)["verdict"] == "broken"


def test_a_language_model_of_onnx_runtime_has_torchs_logits(tiny_gpt2: Path) -> None:
    expected = made(tiny_gpt2, task="lm-forward").answer(0.0).values
    found = made(tiny_gpt2, "backend=onnxruntime", task="lm-forward").answer(0.0).values
    assert torch.allclose(found, expected, atol=1e-5)


def test_int8_of_onnx_runtime_has_quantized_weights(tiny_model: Path) -> None:
    workload = made(tiny_model, "backend=onnxruntime", "precision=int8")
    assert workload.effective.weights_dtype == "qint8"
    assert workload.effective.autocast_dtype is None
    exact = made(tiny_model).answer(0.0).values
    assert not torch.allclose(workload.answer(0.0).values, exact, atol=1e-6)


@pytest.mark.skipif(has_instructions("bf16") is not True, reason="the processor has no bf16")
def test_bf16_that_openvino_takes_by_default_is_marked_and_not_identical(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(made(tiny_model))
    plain = open_vino.options
    monkeypatch.setattr(
        open_vino,
        "options",
        lambda *given: {name: value for name, value in plain(*given).items() if "PRECISION" not in name},
    )
    workload = made(tiny_model, "backend=openvino")
    assert workload.effective.autocast_dtype == "bfloat16"
    assert "precision fp32 was requested but not applied" in unapplied_options(
        workload._config, workload.effective
    )
    assert compare("embeddings", expected, answers(workload), EXACT)["verdict"] == "close"


def test_bf16_that_a_backend_states_is_marked(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = open_vino.OpenVino.load
    monkeypatch.setattr(
        open_vino.OpenVino,
        "load",
        lambda self, at, request: replace(plain(self, at, request), computed_dtype="bfloat16"),
    )
    workload = made(tiny_model, "backend=openvino")
    assert unapplied_options(workload._config, workload.effective) == (
        "precision fp32 was requested but not applied",
    )


def test_operations_in_another_provider_are_named() -> None:
    shares = {"CUDAExecutionProvider": 310, "CPUExecutionProvider": 2}
    assert fallback_marks(shares, "CUDAExecutionProvider") == (
        "2 of 312 operations ran in CPUExecutionProvider instead of CUDAExecutionProvider",
    )
    assert fallback_marks({"CPUExecutionProvider": 2}, "CPUExecutionProvider") == ()


def test_unequal_threads_are_marked(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = OnnxRuntime.load
    monkeypatch.setattr(
        OnnxRuntime,
        "load",
        lambda self, at, request: plain(self, at, replace(request, threads=request.threads + 1)),
    )
    workload = made(tiny_model, "backend=onnxruntime")
    threads = torch.get_num_threads()
    assert f"onnxruntime ran with {threads + 1} threads, torch would with {threads}" in workload.marks


def test_missing_package_skips_with_the_command(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: None)
    with pytest.raises(
        CaseSkippedError, match=r"needs the package openvino: pip install 'benchtui\[openvino\]'"
    ):
        made(tiny_model, "backend=openvino")


def build(folder: Path) -> Artifact:
    (folder / "model").write_bytes(b"model")
    return Artifact(export_s=1.0, convert_s=2.0)


def test_corrupt_artifact_is_built_again(folder: Path) -> None:
    place, built = artifacts.stored_or_built("a", build)
    assert not built.stored
    (place / "model").write_bytes(b"other")
    assert artifacts.stored_or_built("a", build)[1].corrupt
    again = artifacts.stored_or_built("a", build)[1]
    assert (again.stored, again.corrupt) == (True, False)


def test_full_disk_leaves_nothing_and_is_one_line(folder: Path) -> None:
    def fill(partial: Path) -> Artifact:
        (partial / "model").write_bytes(b"mod")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(BenchtuiError, match=r"the artifact can't be stored: No space left"):
        artifacts.stored_or_built("a", fill)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("free", "message"), [(1e6, "a: 1 MB are left for the artifact: iostream"), (1e9, "iostream")]
)
def test_failure_that_does_not_state_the_full_disk_names_the_space_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch, free: float, message: str
) -> None:
    def fail(_: Path) -> Artifact:
        raise RuntimeError("iostream error")

    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises((BenchtuiError, RuntimeError)) as caught:
        artifacts.stored_or_built("a", fail)
    assert re.search(message, str(caught.value)) and isinstance(caught.value, BenchtuiError) == (free < 1e8)


def die(*_: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def half(partial: Path) -> Any:
    (partial / "model").write_bytes(b"mod")
    die()


@pytest.mark.parametrize(
    ("dying", "place", "name"),
    [
        (die, artifacts, "replace"),  # during the export
        (half, artifacts, "replace"),  # during the conversion
        (build, artifacts, "file_digest"),
        (build, artifacts, "Record"),
        (build, Path, "replace"),
    ],
)
def test_artifact_of_a_build_killed_in_any_phase_is_built_by_the_next(
    dying: Any, place: Any, name: str, folder: Path
) -> None:
    if not (child := os.fork()):
        setattr(place, name, die)
        artifacts.stored_or_built("a", dying)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert (folder / "a.partial").exists()
    place, built = artifacts.stored_or_built("a", build)
    assert (built.stored, built.corrupt, (place / "model").read_bytes()) == (False, False, b"model")
    assert not (folder / "a.partial").exists()


def test_of_two_at_once_one_builds(folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = [
            each.result()[1].stored
            for each in [pool.submit(artifacts.stored_or_built, "a", build) for _ in "ab"]
        ]
    assert sorted(found) == [False, True]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("backend=onnxruntime", "compile=default"), "which torch.compile doesn't change"),
        (("backend=openvino", "precision=bf16"), "computes in fp32, amp-bf16 on cpu, not in bf16"),
        (("backend=openvino", "device=cuda:0"), "openvino runs on cpu, not on cuda:0"),
        (("backend=onnxruntime-tensorrt",), "onnxruntime-tensorrt runs on cuda, not on cpu"),
        (("backend=onnxruntime", "device=cuda:0", "precision=int8"), "computes in fp32, tf32, fp16 on cuda"),
        (("backend=aoti", "quantization=bnb-int8"), "is for backend torch"),
        (("backend=aoti", "task=generate"), "which need transformers before 5.6"),
        (("backend=aoti", "task=lm-train"), "backend is for tasks"),
    ],
)
def test_combinations_that_make_no_sense_are_skipped_in_the_plan(options: tuple[str, ...], reason: str) -> None:
    (case,) = cases(parse_sweep('model = "m"', "test", options))
    assert case.skip is not None
    assert reason in case.skip


def test_operations_of_a_backend_are_absent_with_the_reason(tiny_model: Path) -> None:
    workload = made(tiny_model, "backend=onnxruntime")
    with pytest.raises(BenchtuiError, match="onnxruntime runs a step in one call"):
        step_cost.count(workload.step, 0.0, workload.effective)

"""What ONNX Runtime and AOTInductor are asked for on a GPU, by stand-ins for a session and for torch.cuda."""

import ctypes
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch

from benchtui.engine.models.backends import aot_inductor, onnx_runtime, opening
from benchtui.engine.models.backends.aot_inductor import AotInductor
from benchtui.engine.models.backends.base import Loaded, Request
from benchtui.engine.models.backends.onnx_runtime import CPU, CUDA, TENSORRT, OnnxRuntime
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError

GPU = torch.device("cuda:1")


class Options(SimpleNamespace):
    """Options of a session or a run."""

    graph_optimization_level = "GraphOptimizationLevel.ORT_ENABLE_ALL"

    def __init__(self) -> None:
        super().__init__(entries={})

    def add_session_config_entry(self, name: str, value: str) -> None:
        self.entries[name] = value

    add_run_config_entry = add_session_config_entry

    def get_session_config_entry(self, name: str) -> str:
        return str(self.entries[name])


class Binding:
    """Binding that reads inputs from their addresses."""

    def __init__(self) -> None:
        self.inputs: dict[str, Any] = {}
        self.places: list[tuple[str, str, int]] = []
        self.result: Any = None

    def bind_input(
        self, name: str, device: str, index: int, kind: Any, shape: tuple[int, ...], address: int
    ) -> None:
        self.places.append((name, device, index))
        size = int(numpy.prod(shape)) * numpy.dtype(kind).itemsize
        data = ctypes.string_at(address, size)
        self.inputs[name] = numpy.frombuffer(data, kind).reshape(shape)

    def bind_output(self, name: str, device: str, index: int) -> None:
        self.places.append((name, device, index))

    def get_outputs(self) -> list[Any]:
        return [self.result]


class Session:
    """Session whose network adds up its inputs; the last of four operations runs on the processor."""

    loads = True
    last: "Session"

    def __init__(self, path: str, options: Options, providers: list[tuple[str, dict[str, str]]]) -> None:
        self.options, self.providers = options, dict(providers)
        self.ran: list[tuple[Binding, Options]] = []
        Session.last = self

    def get_providers(self) -> list[str]:
        return [*(self.providers if self.loads else ()), CPU]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return self.providers

    def get_session_options(self) -> Options:
        return self.options

    def get_provider_graph_assignment_info(self) -> list[Any]:
        first = next(iter(self.providers))
        return [
            SimpleNamespace(ep_name=name, get_nodes=lambda count=count: [None] * count)
            for name, count in ((first, 3), (CPU, 1))
        ]

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in ("a", "b")]

    def get_outputs(self) -> list[Any]:
        return [SimpleNamespace(name="sum")]

    io_binding = staticmethod(Binding)

    def run_with_iobinding(self, binding: Binding, options: Options) -> None:
        binding.result = binding.inputs["a"] + binding.inputs["b"]
        self.ran.append((binding, options))


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Any:
    found: Any = SimpleNamespace(
        __version__="1.99",
        SessionOptions=Options,
        RunOptions=Options,
        InferenceSession=Session,
        get_available_providers=lambda: [TENSORRT, CUDA, CPU],
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", found)
    monkeypatch.setattr(onnx_runtime, "_stream", lambda device: 4711)
    monkeypatch.setattr(onnx_runtime, "_weights_dtype", lambda path: "float32")
    return found


def load(precision: str, provider: str = CUDA) -> Loaded:
    return OnnxRuntime(provider).load(Path("folder"), Request(precision, 2, GPU))


@pytest.mark.parametrize(("precision", "tf32"), [("fp32", False), ("tf32", True)])
def test_session_on_a_gpu_runs_on_torchs_stream_and_is_asked_for_tf32(
    package: Any, precision: str, tf32: bool
) -> None:
    loaded = load(precision)
    assert Session.last.providers == {
        CUDA: {"device_id": "1", "user_compute_stream": "4711", "use_tf32": str(int(tf32))}
    }
    assert loaded.tf32 is tf32
    assert loaded.marks == (f"1 of 4 operations ran in {CPU} instead of {CUDA}",)


def test_tensors_stay_on_the_gpu_and_the_host_does_not_wait(package: Any) -> None:
    loaded = load("fp32")
    one, other = torch.arange(6.0).reshape(3, 2).T, torch.ones(2, 3)  # the first with gaps
    assert torch.equal(loaded.run((one, other)), one + other)
    ((binding, options),) = Session.last.ran
    assert binding.places == [("a", "cuda", 1), ("b", "cuda", 1), ("sum", "cuda", 1)]
    assert options.entries == {"disable_synchronize_execution_providers": "1"}
    wider = torch.ones(2, 5)
    assert loaded.run((wider, wider)).shape == (2, 5)


def test_tensorrt_falls_back_to_cuda(package: Any) -> None:
    loaded = load("fp16", TENSORRT)
    place = {"device_id": "1", "user_compute_stream": "4711"}
    assert Session.last.providers == {
        TENSORRT: place | {"trt_fp16_enable": "1"},
        CUDA: place | {"use_tf32": "0"},
    }
    assert loaded.tf32 is None


def test_package_without_the_provider_skips_with_the_command(package: Any) -> None:
    package.get_available_providers = lambda: [CPU]
    with pytest.raises(CaseSkippedError, match=r"no CUDAExecutionProvider: .*benchtui\[onnx-gpu\]"):
        load("fp32")


def test_provider_that_does_not_load_fails_the_case(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "loads", False)
    with pytest.raises(BenchtuiError, match="can't use CUDAExecutionProvider here"):
        load("fp32")


def test_new_stream_becomes_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, Any]] = []
    stream = SimpleNamespace(cuda_stream=4711)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: calls.append(("synchronize", device)))
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "set_stream", lambda new: calls.append(("set_stream", new)))
    assert onnx_runtime._stream(GPU) == 4711
    assert calls == [("synchronize", GPU), ("set_stream", stream)]


def test_package_of_torch_is_loaded_on_its_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def load(path: str, **given: Any) -> Any:
        asked.update(given)
        return torch.add

    monkeypatch.setattr(torch._inductor, "aoti_load_package", load)
    monkeypatch.setattr(aot_inductor.precision, "rounds_to_tf32", lambda device: device == GPU)
    (tmp_path / "dtype").write_text("float32")
    loaded = AotInductor().load(tmp_path, Request("tf32", 2, GPU))
    assert asked == {"device_index": 1}
    assert (loaded.tf32, loaded.computed_dtype) == (True, "float32")
    assert loaded.run((torch.ones(2), torch.ones(2))).tolist() == [2, 2]


def test_compiled_code_is_for_one_kind_of_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(name="H100", major=9, minor=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    assert opening._fixed(Request("fp32", 2, GPU)) == "H100 9.0"
    assert opening._fixed(Request("fp32", 2, torch.device("cpu"))) == "2"

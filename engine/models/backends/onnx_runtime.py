"""ONNX Runtime on a processor or a GPU: export by torch, dynamic quantization by its own tool."""

import json
import logging
from collections import Counter
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy
import torch
from torch.utils.dlpack import from_dlpack

from benchtui.engine.models.backends.base import Inputs, Kernel, Loaded, Request
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError

CPU, CUDA, TENSORRT = (f"{name}ExecutionProvider" for name in ("CPU", "CUDA", "Tensorrt"))
_FILE, _EXPORTED = "model.onnx", "exported.onnx"
_SPINNING = "session.intra_op.allow_spinning"
_ASYNCHRONOUS = "disable_synchronize_execution_providers"
_DTYPES = {"FLOAT": "float32", "FLOAT16": "float16", "BFLOAT16": "bfloat16", "INT8": "qint8", "UINT8": "qint8"}


class OnnxRuntime:
    """ONNX Runtime with its provider for the case's device, or with TensorRT's."""

    packages: tuple[str, ...] = ("onnxruntime", "onnx", "onnxscript")
    extra = "onnx"
    fixed_threads = False

    def __init__(self, on_gpu: str = CUDA) -> None:
        self._gpu_provider = on_gpu

    def build(self, program: Any, folder: Path, precision: str) -> None:  # noqa: ANN401
        """Write the ONNX file, with dynamically quantized products for int8."""
        for name in ("torch.onnx", "onnxscript", "root"):  # about operators of packages that aren't installed
            logging.getLogger(name).setLevel(logging.ERROR)
        exported: Any = torch.onnx.export(program, dynamo=True, verbose=False)
        if precision != "int8":
            exported.save(str(folder / _FILE))
            return
        exported.save(str(folder / _EXPORTED))
        tools: Any = import_module("onnxruntime.quantization")
        tools.quantize_dynamic(folder / _EXPORTED, folder / _FILE, weight_type=tools.QuantType.QInt8)
        for path in folder.glob(f"{_EXPORTED}*"):
            path.unlink()

    def load(self, folder: Path, request: Request) -> Loaded:
        """Open a session, and read back its threads, providers and weights."""
        package: Any = import_module("onnxruntime")
        provider = CPU if request.device.type == "cpu" else self._gpu_provider
        if provider not in package.get_available_providers():
            raise CaseSkippedError(
                f"the installed onnxruntime has no {provider}: pip uninstall onnxruntime,"
                " then pip install 'benchtui[onnx-gpu]'"
            )
        options = package.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = request.threads, 1
        options.add_session_config_entry(_SPINNING, "1")
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        if request.profile:
            options.enable_profiling = True
            options.profile_file_prefix = str(request.profile / "onnxruntime")
        providers = [CPU] if provider == CPU else gpu_providers(provider, request)
        session = package.InferenceSession(str(folder / _FILE), options, providers=providers)
        if provider not in session.get_providers():
            raise BenchtuiError(f"onnxruntime can't use {provider} here; does its CUDA fit torch's?")
        used, shares = session.get_session_options(), provider_shares(session)
        dtype = _weights_dtype(folder / _FILE)
        tf32 = session.get_provider_options().get(provider, {}).get("use_tf32")
        return Loaded(
            run=on_host(session) if provider == CPU else on_gpu(package, session, request.device),
            threads=used.intra_op_num_threads,
            weights_dtype=dtype,
            computed_dtype="float32" if dtype == "qint8" else dtype,
            runtime={
                "version": f"onnxruntime {package.__version__}",
                "providers": ", ".join(f"{name} {count}" for name, count in shares.items()),
                "graph optimization": str(used.graph_optimization_level).rpartition(".")[2],
                "threads between operations": str(used.inter_op_num_threads),
                "spinning": spinning if (spinning := used.get_session_config_entry(_SPINNING)) != "1" else "on",
            },
            marks=fallback_marks(shares, provider),
            tf32=None if tf32 is None or dtype != "float32" else tf32 == "1",
            kernels=(lambda: _kernels(Path(session.end_profiling()))) if request.profile else None,
        )


def gpu_providers(provider: str, request: Request) -> list[tuple[str, dict[str, str]]]:
    """Return the providers for a GPU with their options, each of which computes on torch's current stream.

    Without ``use_tf32``, CUDA's provider rounds products to TF32. Operations that TensorRT lacks run in CUDA's.
    """
    place = {"device_id": str(request.device.index or 0), "user_compute_stream": str(_stream(request.device))}
    cuda = (CUDA, place | {"use_tf32": str(int(request.precision == "tf32"))})
    if provider == CUDA:
        return [cuda]
    return [(TENSORRT, place | {"trt_fp16_enable": str(int(request.precision == "fp16"))}), cuda]


def _stream(device: torch.device) -> int:
    """Make a new stream torch's current one, so that torch's events time the session. Return its address.

    The default stream has the address 0, in place of which ONNX Runtime creates a stream itself.
    """
    torch.cuda.synchronize(device)
    stream = torch.cuda.Stream(device)
    torch.cuda.set_stream(stream)
    return int(stream.cuda_stream)


def on_host(session: Any) -> Any:  # noqa: ANN401
    """Return the call of a session on a processor, which shares the memory of torch's tensors."""
    names = [argument.name for argument in session.get_inputs()]

    def run(inputs: Inputs) -> torch.Tensor:
        feeds = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
        return torch.from_numpy(session.run(None, feeds)[0])

    return run


def on_gpu(package: Any, session: Any, device: torch.device) -> Any:  # noqa: ANN401
    """Return the call of a session on a GPU: tensors stay there, and the host doesn't wait."""
    names, output = [argument.name for argument in session.get_inputs()], session.get_outputs()[0].name
    place = ("cuda", device.index or 0)
    options = package.RunOptions()
    options.add_run_config_entry(_ASYNCHRONOUS, "1")

    def run(inputs: Inputs) -> torch.Tensor:
        binding = session.io_binding()  # a used one would want outputs of the same shape
        whole = [tensor.contiguous() for tensor in inputs]
        for name, tensor in zip(names, whole, strict=True):
            kind = numpy.dtype(str(tensor.dtype).removeprefix("torch.")).type
            binding.bind_input(name, *place, kind, tuple(tensor.shape), tensor.data_ptr())
        binding.bind_output(output, *place)
        session.run_with_iobinding(binding, options)
        return from_dlpack(binding.get_outputs()[0])

    return run


def _kernels(file: Path) -> list[Kernel]:
    """Return the operations of a profile of ONNX Runtime after its first run, and remove its file."""
    events = json.loads(file.read_text("utf-8"))
    file.unlink()
    first_us = min(event["ts"] + event["dur"] for event in events if event["name"] == "model_run")
    return [
        Kernel(
            kind=event["args"]["op_name"],
            ms=event["dur"] / 1000,
            shape=", ".join(
                f"{'x'.join(map(str, sizes)) or 'scalar'} {kind}"
                for of_input in event["args"].get("input_type_shape", ())
                for kind, sizes in of_input.items()
            )
            or None,
        )
        for event in events
        if event["cat"] == "Node" and event["name"].endswith("_kernel_time") and event["ts"] > first_us
    ]


def provider_shares(session: Any) -> dict[str, int]:  # noqa: ANN401
    """Return the number of nodes of the optimized graph that each provider runs, most first."""
    assigned = Counter[str]()
    for part in session.get_provider_graph_assignment_info():
        assigned[part.ep_name] += len(part.get_nodes())
    return dict(assigned.most_common())


def fallback_marks(shares: dict[str, int], requested: str) -> tuple[str, ...]:
    """Return a mark for each provider that runs nodes in place of the requested one."""
    total = sum(shares.values())
    return tuple(
        f"{count} of {total} operations ran in {name} instead of {requested}"
        for name, count in shares.items()
        if name != requested
    )


def _weights_dtype(path: Path) -> str:
    """Return the dtype of most weights in matrix products, which embeddings aren't, or else of most weights."""
    onnx: Any = import_module("onnx")
    graph = onnx.load(str(path), load_external_data=False).graph
    multiplied = {
        name for node in graph.node if node.op_type.startswith(("MatMul", "Gemm")) for name in node.input
    }
    stored, all_stored = Counter[str](), Counter[str]()
    for weight in graph.initializer:
        dtype = _DTYPES.get(onnx.TensorProto.DataType.Name(weight.data_type))
        if dtype and len(weight.dims) > 1:
            all_stored[dtype] += prod(weight.dims)
            if weight.name in multiplied:
                stored[dtype] += prod(weight.dims)
    return (stored if stored.total() else all_stored).most_common(1)[0][0]

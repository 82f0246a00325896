"""ONNX Runtime on a processor: export by torch, dynamic quantization by its own tool."""

import logging
from collections import Counter
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import torch

from benchtui.engine.models.backends.base import Inputs, Loaded

PROVIDER = "CPUExecutionProvider"
_FILE, _EXPORTED = "model.onnx", "exported.onnx"
_SPINNING = "session.intra_op.allow_spinning"
_DTYPES = {"FLOAT": "float32", "FLOAT16": "float16", "BFLOAT16": "bfloat16", "INT8": "qint8", "UINT8": "qint8"}


class OnnxRuntime:
    """ONNX Runtime with its provider for processors."""

    packages: tuple[str, ...] = ("onnxruntime", "onnx", "onnxscript")
    extra = "onnx"
    fixed_threads = False

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

    def load(self, folder: Path, precision: str, threads: int) -> Loaded:
        """Open a session, and read back its threads, providers and weights."""
        package: Any = import_module("onnxruntime")
        options = package.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.add_session_config_entry(_SPINNING, "1")
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        session = package.InferenceSession(str(folder / _FILE), options, providers=[PROVIDER])
        names = [argument.name for argument in session.get_inputs()]

        def run(inputs: Inputs) -> torch.Tensor:
            feeds = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
            return torch.from_numpy(session.run(None, feeds)[0])

        used, shares = session.get_session_options(), provider_shares(session)
        dtype = _weights_dtype(folder / _FILE)
        return Loaded(
            run=run,
            threads=used.intra_op_num_threads,
            weights_dtype=dtype,
            computed_dtype="float32" if dtype == "qint8" else dtype,
            runtime={
                "version": f"onnxruntime {package.__version__}",
                "providers": ", ".join(f"{name} {count}" for name, count in shares.items()),
                "graph optimization": str(used.graph_optimization_level).rpartition(".")[2],
                "threads between operations": str(used.inter_op_num_threads),
                "spinning": spinning if (spinning := used.get_session_config_entry(_SPINNING)) != "1" else "on",
                "affinity": "not set",
            },
            marks=fallback_marks(shares, PROVIDER),
        )


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

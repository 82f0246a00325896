"""OpenVINO on a processor, converted from torch's exported program."""

from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from benchtui.engine.models.backends.base import Inputs, Kernel, Loaded, Request
from benchtui.sessions.sweep.library_names import AUTOCAST_DTYPES, WEIGHTS_DTYPES

_FILE = "model.xml"
_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_DTYPES = {name: dtype for dtype, name in _TYPES.items()}


class OpenVino:
    """OpenVINO with its plugin for processors.

    Without a hint it computes in bf16 where the processor can, whatever the precision of the weights.
    """

    packages: tuple[str, ...] = ("openvino",)
    extra = "openvino"
    fixed_threads = False

    def build(self, program: Any, folder: Path, precision: str) -> None:  # noqa: ANN401
        """Convert the program and write OpenVINO's files, with the weights as they are."""
        openvino: Any = import_module("openvino")
        model = openvino.convert_model(program)
        openvino.save_model(model, str(folder / _FILE), compress_to_fp16=False)

    def load(self, folder: Path, request: Request) -> Loaded:
        """Compile the model for this processor, and read back its threads and precision."""
        openvino: Any = import_module("openvino")
        core = openvino.Core()
        model = core.read_model(str(folder / _FILE))
        compiled = core.compile_model(model, "CPU", options(request))
        inference = compiled.create_infer_request()
        counters = Counters(inference)

        def run(inputs: Inputs) -> torch.Tensor:
            given = {place: tensor.numpy() for place, tensor in enumerate(inputs)}
            inference.infer(given, share_inputs=True)
            if request.profile:
                counters.count()
            return torch.from_numpy(inference.get_output_tensor(0).data.copy())

        computed = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        return Loaded(
            run=run,
            threads=int(compiled.get_property("INFERENCE_NUM_THREADS")),
            weights_dtype=_stored_dtype(model),
            computed_dtype=_DTYPES.get(computed, computed),
            runtime={
                "version": f"openvino {openvino.__version__.partition('-')[0]}",
                "devices": ", ".join(compiled.get_property("EXECUTION_DEVICES")),
                "streams": str(compiled.get_property("NUM_STREAMS")),
                "pinning": "on" if compiled.get_property("ENABLE_CPU_PINNING") else "off",
            },
            kernels=counters.kernels if request.profile else None,
        )


class Counters:
    """Performance counters of a request: the mean time of each operation over all inferences."""

    def __init__(self, inference: Any) -> None:  # noqa: ANN401
        self._inference = inference
        self._inferences = 0
        self._first: dict[tuple[str, str], float] = {}

    def count(self) -> None:
        """Count an inference, and keep the times of the first one."""
        self._inferences += 1
        if self._inferences == 1:
            self._first = self._means_ms()

    def kernels(self) -> list[Kernel]:
        """Return the operations of all inferences but the first."""
        later, count = self._inferences - 1, self._inferences
        mean_ms = {
            key: max(0.0, mean_ms * count - self._first.get(key, 0.0)) / later
            for key, mean_ms in self._means_ms().items()
        }
        return [Kernel(kind, ms) for (_, kind), ms in mean_ms.items() for _ in range(later)]

    def _means_ms(self) -> dict[tuple[str, str], float]:
        return {
            (node.node_name, node.node_type): 1000 * node.real_time.total_seconds()
            for node in self._inference.get_profiling_info()
            if str(node.status).endswith(".EXECUTED")
        }


def options(request: Request) -> dict[str, Any]:
    """Return the properties of a compiled model: one stream, with the threads and precision of the case."""
    computed = AUTOCAST_DTYPES.get(request.precision) or WEIGHTS_DTYPES.get(request.precision, "float32")
    return {
        "INFERENCE_NUM_THREADS": request.threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False,
        "INFERENCE_PRECISION_HINT": _TYPES[computed],
        "PERF_COUNT": request.profile is not None,
    }


def _stored_dtype(model: Any) -> str:  # noqa: ANN401
    """Return the dtype of the largest constant."""
    constants = [node for node in model.get_ops() if node.get_type_name() == "Constant"]
    largest = max(constants, key=lambda node: node.get_byte_size())
    kind: str = largest.get_element_type().get_type_name()
    return _DTYPES.get(kind, kind)

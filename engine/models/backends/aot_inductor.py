"""AOTInductor: the network compiled ahead of time by torch, loaded from its package."""

from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from benchtui.engine.models import precision
from benchtui.engine.models.backends.base import Inputs, Loaded, Request

_FILE, _DTYPE = "model.pt2", "dtype"


class AotInductor:
    """Torch's compiler for packages."""

    packages: tuple[str, ...] = ()
    extra = ""
    fixed_threads = True

    def build(self, program: Any, folder: Path, precision: str) -> None:  # noqa: ANN401
        """Compile the program for torch's current number of threads or its GPU, and write the package."""
        inductor: Any = import_module("torch._inductor")
        largest = max(program.state_dict.values(), key=torch.Tensor.numel)
        (folder / _DTYPE).write_text(str(largest.dtype).removeprefix("torch."), "ascii")
        inductor.aoti_compile_and_package(program, package_path=str(folder / _FILE))

    def load(self, folder: Path, request: Request) -> Loaded:
        """Load the package. Its threads and its stream are torch's."""
        inductor: Any = import_module("torch._inductor")
        on_gpu = request.device.type != "cpu"
        place = {"device_index": request.device.index or 0} if on_gpu else {}
        package = inductor.aoti_load_package(str(folder / _FILE), **place)

        def run(inputs: Inputs) -> torch.Tensor:
            output: torch.Tensor = package(*inputs)
            return output

        dtype = (folder / _DTYPE).read_text("ascii")
        return Loaded(
            run=run,
            threads=torch.get_num_threads(),
            weights_dtype=dtype,
            computed_dtype=dtype,
            runtime={"version": f"torch {torch.__version__}"},
            tf32=precision.rounds_to_tf32(request.device) if on_gpu and dtype == "float32" else None,
        )

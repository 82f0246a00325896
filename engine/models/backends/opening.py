"""Opening a backend: the network exported, its artifact built or found, and loaded."""

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import msgspec
import torch
from msgspec.structs import replace

from benchtui.engine.devices import process_memory
from benchtui.engine.models.backends import artifacts
from benchtui.engine.models.backends.aot_inductor import AotInductor
from benchtui.engine.models.backends.base import Backend, Loaded, Request
from benchtui.engine.models.backends.onnx_runtime import TENSORRT, OnnxRuntime
from benchtui.engine.models.backends.open_vino import OpenVino
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.library.artifacts import About
from benchtui.sessions.payloads import Artifact, Effective
from benchtui.sessions.sweep import Config

_BACKENDS: dict[str, Callable[[], Backend]] = {
    "aoti": AotInductor,
    "onnxruntime": OnnxRuntime,
    "onnxruntime-tensorrt": partial(OnnxRuntime, TENSORRT),
    "openvino": OpenVino,
}
_FORMAT = 2
"""Version of the artifacts. Another one isn't used."""


class Opened:
    """Network in a backend, called like that of transformers."""

    def __init__(
        self,
        backend: str,
        output: str,
        names: tuple[str, ...],
        load: Callable[[Path | None], Loaded],
        artifact: Artifact,
    ) -> None:
        """Load the artifact. ``load`` takes the folder for a profile, or None."""
        begin_s = monotonic()
        self.backend, self.load = backend, load
        self.loaded = loaded = load(None)
        self.run = loaded.run
        self.artifact = replace(artifact, load_s=monotonic() - begin_s)
        self._output, self._names = output, names
        torch_threads = torch.get_num_threads()
        unequal = f"{backend} ran with {loaded.threads} threads, torch would with {torch_threads}"
        corrupt = "the stored artifact was corrupt and was built again"
        self.marks = (
            *loaded.marks,
            *((unequal,) if loaded.threads != torch_threads else ()),
            *((corrupt,) if artifact.corrupt else ()),
        )

    def read_back(self) -> Effective:
        """Return what the backend states, and the affinity that the threads of this process have now."""
        loaded = self.loaded
        separate = loaded.weights_dtype not in ("qint8", loaded.computed_dtype)
        return Effective(
            weights_dtype=loaded.weights_dtype,
            autocast_dtype=loaded.computed_dtype if separate else None,
            output_dtype=loaded.computed_dtype,
            tf32=loaded.tf32,
            compiled=False,
            threads=loaded.threads,
            runtime=loaded.runtime | _affinity(),
        )

    def __call__(self, **inputs: object) -> SimpleNamespace:
        """Run the network. Options of transformers' call were applied when it was exported.

        Raises BenchtuiError if it was exported with other inputs, which it would miss or ignore.
        """
        given = {name for name, value in inputs.items() if isinstance(value, torch.Tensor)}
        if given != set(self._names):
            raise BenchtuiError(f"exported with {', '.join(self._names)}; called with {', '.join(given)}")
        result = self.run(tuple(inputs[name] for name in self._names))  # type: ignore[misc]
        return SimpleNamespace(**{self._output: result})


def _affinity() -> dict[str, str]:
    """Return how many threads of this process are pinned to other processors than the calling one may use."""
    if not sys.platform.startswith("linux"):
        return {}
    own, allowed = os.sched_getaffinity(0), list[set[int]]()
    for path in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has just ended
            allowed.append(os.sched_getaffinity(int(path.name)))
    pinned = sum(processors != own for processors in allowed)
    return {"affinity": f"{pinned} of {len(allowed)} threads pinned" if pinned else "not set"}


def open_backend(network: Any, config: Config, inputs: dict[str, torch.Tensor], output: str) -> Opened:  # noqa: ANN401
    """Open a network in the backend of a case. Without a stored artifact, it is exported with these inputs.

    Raises CaseSkippedError if a package of the backend isn't installed.
    """
    backend, device = _BACKENDS[config.backend](), torch.device(config.device)
    if missing := [name for name in backend.packages if find_spec(name) is None]:
        extra = backend.extra if device.type == "cpu" else f"{backend.extra}-gpu"
        raise CaseSkippedError(
            f"backend {config.backend} needs the package {missing[0]}: pip install 'benchtui[{extra}]'"
        )
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # OpenVINO then has a stub
    request = Request(config.precision, torch.get_num_threads(), device)

    def build(folder: Path) -> Artifact:
        process_memory.reset_peak()
        begin_s = monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the exporters about torch, which users can't fix
            program = _exported(network, inputs, output)
            exported_s = monotonic()
            backend.build(program, folder, config.precision)
        return Artifact(
            export_s=exported_s - begin_s, convert_s=monotonic() - exported_s, peak_mb=process_memory.peak_mb()
        )

    about = About(model=config.model, backend=config.backend, precision=config.precision)
    key = _key(network, config, (*inputs, output), backend, request)
    folder, artifact = artifacts.stored_or_built(key, build, about)

    def load(profile: Path | None) -> Loaded:
        return backend.load(folder, replace(request, profile=profile))

    return Opened(config.backend, output, tuple(inputs), load, artifact)


class _Forward(torch.nn.Module):
    """Forward pass with inputs by position and one tensor as output."""

    def __init__(self, network: Any, names: Iterable[str], output: str) -> None:  # noqa: ANN401
        super().__init__()
        self.network, self._names, self._output = network, tuple(names), output
        taken = inspect.signature(network.forward).parameters
        self._options = {"use_cache": False} if "use_cache" in taken else {}

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        named = dict(zip(self._names, inputs, strict=True))
        result: torch.Tensor = getattr(self.network(**named, **self._options), self._output)
        return result


def _exported(network: Any, inputs: dict[str, torch.Tensor], output: str) -> Any:  # noqa: ANN401
    """Return torch's exported program, whose batch and length are dynamic.

    The example has two rows, because torch makes a size of 1 constant.
    """
    two = tuple(torch.cat((tensor, tensor))[:2] for tensor in inputs.values())
    dynamic = torch.export.Dim.DYNAMIC
    sizes = tuple({0: dynamic, 1: dynamic} if tensor.dim() == 2 else {0: dynamic} for tensor in two)
    with torch.no_grad():
        return torch.export.export(
            _Forward(network, inputs, output).eval(), two, dynamic_shapes={"inputs": sizes}, strict=False
        )


def _key(
    network: Any,  # noqa: ANN401
    config: Config,
    names: tuple[str, ...],
    backend: Backend,
    request: Request,
) -> str:
    """Return a digest of everything that decides an artifact: weights, configuration, versions and options."""
    packages: tuple[str, ...] = ("benchtui", "torch", "transformers", *backend.packages)
    stated = (
        _FORMAT,
        config.backend,
        config.precision,
        request.device.type,
        _fixed(request) if backend.fixed_threads else "",
        names,
        {name: _version(name) for name in packages},
        type(network).__name__,
        network.config.to_json_string(),
        str(getattr(network.config, "_attn_implementation", None)),
    )
    digest = sha256(msgspec.json.encode(stated))
    for name, tensor in network.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:32]


def _fixed(request: Request) -> str:
    """Return what compiled code is for: a number of threads, or a kind of GPU."""
    if request.device.type == "cpu":
        return str(request.threads)
    gpu = torch.cuda.get_device_properties(request.device)
    return f"{gpu.name} {gpu.major}.{gpu.minor}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""

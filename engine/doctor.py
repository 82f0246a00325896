"""Machine check: what can and can't be measured here, with the reason and the remedy."""

import multiprocessing
import os
import shutil
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Literal

from benchtui.engine.control import runtime_folder
from benchtui.engine.node.worker_processes import TorchQuery
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.telemetry.nvml import Nvml, NvmlUnavailable, open_nvml
from benchtui.engine.versions import untested
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Runtime
from benchtui.sessions.library import paths
from benchtui.sessions.payloads import Host

_TORCH_S = 300.0

State = Literal["ok", "absent", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check."""

    what: str
    state: State
    """``absent`` limits what can be measured; ``broken`` keeps benchtui from working."""
    text: str


def run_checks() -> list[Finding]:
    """Run all checks. Takes as long as importing torch."""
    nvml = open_nvml()
    host = describe_host(nvml)
    gpus = [_absent_gpu(nvml)] if isinstance(nvml, NvmlUnavailable) else _gpus(nvml)
    return [_processor(host), *gpus, _processor_energy(host), *_torch(), _compiler(), *_folders()]


def _processor(host: Host) -> Finding:
    memory_gb = (host.memory_mb or 0) / 1000
    return Finding("processor", "ok", f"{host.processor}, {host.cpu_count} usable, {memory_gb:.1f} GB memory")


def _absent_gpu(absent: NvmlUnavailable) -> Finding:
    return Finding("GPU readings", "absent", absent.reason)


def _gpus(nvml: Nvml) -> list[Finding]:
    """Return one finding per GPU, listing missing readings, and one per GPU that can't be read."""
    found = []
    for gpu, sample in zip(nvml.gpus(), nvml.sample(), strict=True):
        missing = "".join(f"; no {name}: {reason}" for name, reason in sample.absent.items())
        text = f"{gpu.name}, {(gpu.memory_mb or 0) / 1000:.1f} GB, driver {nvml.driver}{missing}"
        found.append(Finding(f"GPU {gpu.index}", "ok", text))
    return found + [Finding(name, "absent", reason) for name, reason in nvml.absent.items()]


def _processor_energy(host: Host) -> Finding:
    if reason := host.absent.get("rapl"):
        return Finding("processor energy", "absent", reason)
    return Finding("processor energy", "ok", "RAPL, all processor packages together")


def _torch() -> list[Finding]:
    """Query torch in a separate process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchtui.engine.worker.preload"])
    probe = TorchQuery(context)
    wait([probe.source], timeout=_TORCH_S)
    runtime = probe.result(0.0)
    if isinstance(runtime, str):
        return [Finding("torch", "broken", f"{runtime}; reinstall with `pip install torch`")]
    return [_versions(runtime), _cuda(runtime)]


def _versions(runtime: Runtime) -> Finding:
    text = f"torch {runtime.torch}, transformers {runtime.transformers}, {runtime.threads} threads"
    words = untested(runtime)
    return Finding("torch", "absent" if words else "ok", "; ".join((text, *words)))


def _cuda(runtime: Runtime) -> Finding:
    if runtime.cuda_devices:
        return Finding("CUDA", "ok", f"CUDA {runtime.cuda}: {', '.join(runtime.cuda_devices)}")
    if runtime.cuda is None:
        return Finding("CUDA", "absent", "torch was built without CUDA; cases on cuda are skipped")
    return Finding(
        "CUDA",
        "absent",
        f"torch was built with CUDA {runtime.cuda} but sees no device; cases on cuda are skipped",
    )


def _compiler() -> Finding:
    found = shutil.which(os.environ.get("CXX") or "g++") or shutil.which("clang++")
    if found:
        return Finding("torch.compile", "ok", f"C++ compiler {found}")
    return Finding(
        "torch.compile", "absent", "no C++ compiler found (g++ or clang++); compile modes on cpu need one"
    )


def _folders() -> list[Finding]:
    found = []
    for what, folder in (("sessions folder", paths.folder), ("runtime folder", runtime_folder)):
        try:
            path = folder()
        except BenchtuiError as error:
            found.append(Finding(what, "broken", str(error)))
            continue
        free_gb = shutil.disk_usage(path).free / 1e9
        state: State = "ok" if os.access(path, os.W_OK) else "broken"
        found.append(Finding(what, state, f"{path}, {free_gb:.1f} GB free"))
    return found

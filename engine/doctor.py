"""Machine check: what can and can't be measured here, with the reason and the remedy."""

import multiprocessing
import os
import shutil
from importlib.metadata import version
from multiprocessing.connection import wait
from typing import Literal

import msgspec

from benchtui.engine.control import runtime_folder
from benchtui.engine.device_support import COMPILERS, find_compiler
from benchtui.engine.node.worker_processes import query_torch
from benchtui.engine.telemetry.gpu.open import open_gpus
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpusUnavailable
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.versions import require_packages, untested
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.accuracy import check_estimates
from benchtui.sessions.events import Runtime
from benchtui.sessions.files.extras import is_installed, missing
from benchtui.sessions.library import paths
from benchtui.sessions.payloads import Host
from benchtui.sessions.text.formatting import count, memory

_TORCH_S = 300.0

State = Literal["ok", "missing", "broken"]


class Check(msgspec.Struct, frozen=True):
    """Result of one check."""

    what: str
    state: State
    """``missing`` limits what can be measured; ``broken`` keeps benchtui from working."""
    text: str


def run_checks() -> list[Check]:
    """Run all checks. Takes as long as importing torch."""
    gpus = open_gpus()
    host = describe_host(gpus)
    runtime = _query_torch()
    unread = [Check("GPU readings", "missing", host.absent.get("gpu", ""))]
    return [
        _processor(host),
        *(unread if isinstance(gpus, GpusUnavailable) else _gpus(gpus)),
        _processor_energy(host),
        *([runtime] if isinstance(runtime, Check) else [_versions(runtime), _cuda(runtime)]),
        *(_compiler(language, device) for language, device in (("C++", "cpu"), ("C", "cuda"))),
        *_extras(),
        *_folders(),
        _estimates(host.hostname or ""),
    ]


def _processor(host: Host) -> Check:
    size = memory(host.memory_mb or 0)
    return Check("processor", "ok", f"{host.processor}, {host.cpu_count} usable, {size} memory")


def _gpus(reader: GpuReader) -> list[Check]:
    """Return one finding per GPU, listing missing readings, and one per GPU that can't be read."""
    findings = []
    for gpu, sample in zip(reader.gpus(), reader.sample(), strict=True):
        missing = "".join(f"; no {name}: {reason}" for name, reason in sample.absent.items())
        counters = "" if "activity" in sample.absent else "; activity of its units is read"
        mig = "; partitioned by MIG: its instances can't be read" if gpu.mig else ""
        text = f"{gpu.name}, {memory(gpu.memory_mb or 0)}, driver {reader.driver}{mig}{counters}{missing}"
        findings.append(Check(f"GPU {gpu.index}", "ok", text))
    return findings + [Check(name, "missing", reason) for name, reason in reader.absent.items()]


def _processor_energy(host: Host) -> Check:
    missing = host.absent.get("rapl")
    text = missing or "RAPL, all processor packages together"
    return Check("processor energy", "missing" if missing else "ok", text)


def _query_torch() -> Runtime | Check:
    """Query torch in a separate process. If it has no answer, return the finding about it."""
    try:
        require_packages()
    except BenchtuiError as error:
        return Check("torch", "missing", f"{error}; sessions can be read without it")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchtui.engine.worker.preload"])
    probe = query_torch(context)
    wait([probe.source], timeout=_TORCH_S)
    answer = probe.result()
    if isinstance(answer, str):
        return Check("torch", "broken", f"{answer}; reinstall with `pip install torch`")
    return answer


def _extras() -> list[Check]:
    """Return a finding about each package that only some outputs need."""
    return [
        Check(what, "ok", f"{package} {version(package)}")
        if is_installed(package)
        else Check(what, "missing", missing(package, what))
        for what, package in (("figures", "matplotlib"), ("frames", "pandas"))
    ]


def _versions(runtime: Runtime) -> Check:
    transformers = runtime.transformers or "not installed, so only steps of your own can run"
    text = f"torch {runtime.torch}, transformers {transformers}, {runtime.threads} threads"
    words = untested(runtime)
    return Check("torch", "missing" if words else "ok", "; ".join((text, *words)))


def _cuda(runtime: Runtime) -> Check:
    names = ", ".join(runtime.cuda_devices)
    if runtime.hip:
        devices = names or "torch sees no device; cases on cuda are skipped"
        return Check("ROCm", "ok" if names else "missing", f"HIP {runtime.hip}: {devices}")
    if runtime.cuda_devices:
        return Check("CUDA", "ok", f"CUDA {runtime.cuda}: {names}")
    built = "without CUDA" if runtime.cuda is None else f"with CUDA {runtime.cuda} but sees no device"
    return Check("CUDA", "missing", f"torch was built {built}; cases on cuda are skipped")


def _compiler(language: str, device: str) -> Check:
    """Find the compiler that torch.compile needs: for Inductor on cpu, for Triton's launcher on cuda."""
    what, (variable, names) = f"torch.compile on {device}", COMPILERS[device]
    chosen = os.environ.get(variable)
    compiler = find_compiler(variable, names)
    if compiler:
        return Check(what, "ok", f"{language} compiler {compiler}")
    tried = f"{variable}={chosen}" if chosen else " or ".join(names)
    return Check(what, "missing", f"no {language} compiler found ({tried}); compile modes on {device} need one")


def _estimates(hostname: str) -> Check:
    """Compare what was estimated before the sessions of this machine with what they measured."""
    try:
        checked = check_estimates(paths.known(), hostname)
    except BenchtuiError as error:
        return Check("estimates", "missing", f"not checked: {error}")
    kinds = {"memory": checked.memory, "time": checked.time}
    texts = [
        f"{kind} off by {accuracy.median:.2g}x at the median, {accuracy.worst:.2g}x at worst"
        for kind, accuracy in kinds.items()
        if accuracy
    ]
    cases = max((accuracy.cases for accuracy in kinds.values() if accuracy), default=0)
    source = f" ({count(cases, 'case')}, {count(checked.sessions, 'session')})"
    nothing = "not checked yet: nothing was measured on this machine"
    return Check("estimates", "ok", f"{'; '.join(texts)}{source}" if texts else nothing)


def _folders() -> list[Check]:
    findings = []
    for what, folder in (("sessions folder", paths.folder), ("runtime folder", runtime_folder)):
        try:
            path = folder()
        except BenchtuiError as error:
            findings.append(Check(what, "broken", str(error)))
            continue
        free_gb = shutil.disk_usage(path).free / 1e9
        state: State = "ok" if os.access(path, os.W_OK) else "broken"
        findings.append(Check(what, state, f"{path}, {free_gb:.1f} GB free"))
    return findings

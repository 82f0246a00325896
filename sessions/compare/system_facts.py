"""System facts: model, machine and software of a session as pairs of label and text."""

import re
from collections.abc import Iterable, Iterator, Mapping

from benchtui.sessions.events import Runtime
from benchtui.sessions.payloads import Gpu, Host, Model
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.file_names import SHOWN_DIGITS, file_label
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import UNKNOWN
from benchtui.sessions.text.formatting import capitalized, memory, number

Fact = tuple[str, str]

SOFTWARE = ("GPU driver", "CUDA", "HIP (ROCm)", "cuDNN", "Python", "PyTorch", "Transformers", "Torch threads")
"""System facts that belong to the software; the others belong to the machine."""
NAMED_ELSEWHERE = ("torch", "transformers")
"""Packages with a separate line."""


def facts(*pairs: tuple[str, object]) -> tuple[Fact, ...]:
    """Return the pairs that have a value, as text. Integers get thousands separators."""
    shown = ((label, f"{value:,}" if type(value) is int else value) for label, value in pairs)
    return tuple((label, str(value)) for label, value in shown if value is not None)


def models(session: Session) -> list[tuple[Fact, ...]]:
    """Return the facts of every distinct loaded model; usually there is just one.

    Models without known facts, as in some imported sessions, are left out.
    """
    loaded = dict.fromkeys(case.prepared.model for case in session.cases if case.prepared)
    return [model_facts for model in loaded if (model_facts := _model(model))]


def file_versions(session: Session) -> dict[str, tuple[str, ...]]:
    """Return the versions of each file that measured cases used, as shortened digests, by the file's label."""
    sweep, by_label = session.start.sweep, dict[str, dict[str, None]]()
    for case in session.cases:
        if case.state == "ok" and case.prepared:
            for name, digest in case.prepared.files.items():
                versions = by_label.setdefault(file_label(name, sweep, case.config), {})
                versions[digest[:SHOWN_DIGITS]] = None
    return {label: tuple(versions) for label, versions in by_label.items()}


def system(session: Session) -> tuple[Fact, ...]:
    """Return the facts of machine, GPUs and software. Unreadable values are listed with the reason."""
    own = (case for case in session.cases if case.node is None)
    return (*machine_facts(session.start.host, session.runtime), *affinity_facts(own))


def machine_facts(host: Host, runtime: Runtime | None) -> tuple[Fact, ...]:
    """Return the facts of a machine, its GPUs and its software."""
    return (*_machine(host), *_gpus(host, runtime), *_software(host, runtime), *_absent(host, runtime))


def affinity_facts(cases: Iterable[CaseState]) -> tuple[Fact, ...]:
    """Return the CPUs that the workers of these cases could use. Empty if no case recorded them."""
    affinities = dict.fromkeys(case.environment.affinity or "" for case in cases)
    return facts(("CPU affinity", " or ".join(filter(None, affinities)) or None))


def _model(model: Model) -> tuple[Fact, ...]:
    return facts(
        ("Model", None if model.name == UNKNOWN else model.name),
        ("Architecture", model.architecture),
        ("Hidden size", model.hidden_size),
        ("Hidden layers", model.hidden_layers),
        ("Attention heads", model.attention_heads),
        ("Parameters", model.parameters),
        ("Weights", model.weights),
        ("Configuration source", model.source),
        ("Revision", model.revision),
    )


def _machine(host: Host) -> tuple[Fact, ...]:
    return facts(
        ("Host", host.hostname),
        ("Platform", host.platform),
        ("Processor", host.processor),
        ("CPU count", host.cpu_count),
        ("Virtual machine", "yes" if host.virtual else None),
        ("Memory", memory(host.memory_mb)),
        ("Governor", host.governor),
        ("Core types", _cpus_by_name(host.core_types)),
        ("NUMA nodes", _cpus_by_name(host.numa_nodes)),
        ("Container CPU limit", number(host.container_cpus, 2)),
        ("Container memory limit", memory(host.container_memory_mb)),
    )


def _cpus_by_name(cpus: Mapping[str, str] | None) -> str | None:
    return "; ".join(f"{name}: {numbers}" for name, numbers in (cpus or {}).items()) or None


def _gpus(host: Host, runtime: Runtime | None) -> Iterator[Fact]:
    for gpu in host.gpus:
        yield f"GPU {gpu.index}", _gpu(gpu)
    if runtime and not host.gpus:
        yield from ((f"cuda:{place}", name) for place, name in enumerate(runtime.cuda_devices))


def _gpu(gpu: Gpu) -> str:
    limit = number(gpu.power_limit_w, 0)
    parts = (
        gpu.name,
        memory(gpu.memory_mb),
        limit and f"power limit {limit} W",
        "MIG on" if gpu.mig else None,
        gpu.pcie and f"PCIe {gpu.pcie}",
        None if gpu.numa_node is None else f"NUMA node {gpu.numa_node}",
        _application_clocks(gpu),
        _mode("ECC", gpu.ecc),
        _mode("persistence", gpu.persistence),
    )
    return ", ".join(filter(None, parts))


def _application_clocks(gpu: Gpu) -> str | None:
    sm, memory = (number(mhz, 0) for mhz in (gpu.application_clock_mhz, gpu.application_memory_clock_mhz))
    parts = (sm and f"SM {sm} MHz", memory and f"memory {memory} MHz")
    clocks = " and ".join(filter(None, parts))
    return clocks and f"application clocks {clocks}"


def _mode(name: str, on: bool | None) -> str | None:
    return None if on is None else f"{name} {'on' if on else 'off'}"


def _software(host: Host, runtime: Runtime | None) -> tuple[Fact, ...]:
    others = (f"{name} {version}" for name, version in host.packages.items() if name not in NAMED_ELSEWHERE)
    variables = (host.environment or {}).items()
    return facts(
        ("GPU driver", host.driver),
        ("CUDA", runtime and runtime.cuda),
        ("HIP (ROCm)", runtime and runtime.hip),
        ("cuDNN", str(runtime.cudnn) if runtime and runtime.cudnn else None),
        ("Python", host.python),
        ("PyTorch", runtime.torch if runtime else host.packages.get("torch")),
        ("Transformers", (runtime and runtime.transformers) or host.packages.get("transformers")),
        ("Torch threads", runtime and runtime.threads),
        ("Other packages", ", ".join(others) or None),
        ("Environment variables", ", ".join(f"{name}={value}" for name, value in variables) or None),
    )


def _absent(host: Host, runtime: Runtime | None) -> Iterator[Fact]:
    used = runtime is not None and bool(runtime.cuda_devices)
    for name, reason in host.absent.items():
        yield reading_label(name), "none" if name == "gpu" and not used else f"unreadable: {reason}"


def reading_label(name: str) -> str:
    """Return the label of a kind of reading, such as ``RAPL`` or ``Processor clock``."""
    return capitalized(re.sub(r"\b(gpu|rapl)\b", lambda match: match[0].upper(), name))

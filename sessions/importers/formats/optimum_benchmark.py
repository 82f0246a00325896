"""Importer for optimum-benchmark: ``benchmark.json``, or ``benchmark_report.json`` without configuration.

As of version 0.6, latencies are lists of seconds, memory is in 10**6 bytes, and energy in kWh per call. On
CUDA, timing uses events, so a step is device time. The first call before the warm-up becomes the warm-up step
here, because it is the one that compiles. Energy is that of the GPU on CUDA, and otherwise that of the
processor.

Generation is measured as ``prefill`` and ``decode``. Their rates are samples/s and tokens/s over the mean time
(``scenarios/inference/scenario.py``), so batch size and number of new tokens can be derived from them without a
configuration. A dtype of null leaves the choice to the model's files, so it is unknown here.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Literal

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Runtime
from benchtui.sessions.importers.decode import (
    NotNegative,
    convert,
    ignored_fields_note,
    parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.imported import Imported, Measurement
from benchtui.sessions.payloads import Energy, Gpu, Host, Memory, Model
from benchtui.sessions.sanitize import quoted
from benchtui.sessions.sweep import LARGEST, MOST_THREADS, UNKNOWN, Config, Size, Weights

REQUIRED = ("latency", "memory")
"""Required keys of a target."""
J_IN_KWH = 3.6e6
MOST_NEW_TOKENS = 10**9

_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_TASKS = {"text-classification": "classify", "text-generation": "generate"}
_STEPS = ("forward", "generate", "call", "train")
"""Targets whose call is a whole step."""
_FIRST = {
    "forward": "first_forward",
    "generate": "first_generate",
    "call": "first_call",
}
"""By step target: the target with its very first call."""
_PARTS = ("prefill", "decode")
"""Targets that together form a generation."""
_DERIVED = ("latency.", "efficiency")
"""Fields of a target that can be derived from its latencies and energy."""
_IRRELEVANT = (
    *("config.backend._target_", "config.scenario._target_", "config.print_report", "config.log_report"),
    *("config.environment.system", "config.environment.machine", "config.environment.processor"),
)
"""Configuration fields that repeat others, or say nothing about the measurement."""
_PACKAGES = ("optimum_benchmark", "transformers", "accelerate", "diffusers", "optimum", "timm", "peft")
"""Packages whose versions are in the environment as ``NAME_version``."""


class _Latency(msgspec.Struct):
    unit: Literal["s"]
    values: list[NotNegative]


class _Memory(msgspec.Struct):
    unit: Literal["MB"]
    max_ram: NotNegative | None = None
    max_process_vram: NotNegative | None = None
    max_reserved: NotNegative | None = None
    max_allocated: NotNegative | None = None


class _Throughput(msgspec.Struct):
    unit: str
    value: NotNegative


class _Energy(msgspec.Struct):
    unit: Literal["kWh"]
    cpu: NotNegative
    gpu: NotNegative


class _Target(msgspec.Struct):
    latency: _Latency | None = None
    memory: _Memory | None = None
    throughput: _Throughput | None = None
    energy: _Energy | None = None


class _Backend(msgspec.Struct):
    name: str
    model: str = UNKNOWN
    task: str | None = None
    version: str | None = None
    device: str | None = None
    device_ids: str | None = None
    torch_dtype: str | None = None
    dtype: str | None = None
    no_weights: bool | None = None
    attn_implementation: str | None = None
    allow_tf32: bool = False
    autocast_enabled: bool = False
    autocast_dtype: str | None = None
    torch_compile: bool = False
    torch_compile_config: dict[str, Any] = {}
    quantization_config: dict[str, Any] = {}
    intra_op_num_threads: int | None = None


class _Shapes(msgspec.Struct):
    batch_size: Size | None = None
    sequence_length: Size | None = None


class _Scenario(msgspec.Struct):
    name: str
    input_shapes: _Shapes = msgspec.field(default_factory=_Shapes)
    generate_kwargs: dict[str, Any] = {}


class _Environment(msgspec.Struct):
    cpu: str | None = None
    cpu_count: int | None = None
    cpu_ram_mb: NotNegative | None = None
    platform: str | None = None
    python_version: str | None = None
    optimum_benchmark_version: str | None = None
    transformers_version: str | None = None
    accelerate_version: str | None = None
    diffusers_version: str | None = None
    optimum_version: str | None = None
    timm_version: str | None = None
    peft_version: str | None = None
    gpu: list[str] = []


class _Configuration(msgspec.Struct):
    name: str
    backend: _Backend
    scenario: _Scenario
    environment: _Environment = msgspec.field(default_factory=_Environment)


class _Benchmark(msgspec.Struct):
    report: dict[str, Any]
    config: _Configuration | None = None


def keys(value: object) -> set[str]:
    """Return the keys of the first target of a benchmark or report."""
    targets = _report(value) or {}
    return next((set(target) for target in targets.values() if isinstance(target, dict)), set())


def matches(value: object) -> bool:
    """Return whether the value is a benchmark or report: an object of targets with latency and memory."""
    report = _report(value)
    return bool(report) and all(
        target is None or (isinstance(target, dict) and set(REQUIRED) <= set(target))
        for target in (report or {}).values()
    )


def _report(value: object) -> dict[str, object] | None:
    report = value.get("report", value) if isinstance(value, dict) else None
    return report if isinstance(report, dict) else None


def parse(text: str, path: Path) -> Imported:
    """Parse the file's only case. Raises BenchtuiError naming the place of an invalid value."""
    value = parse_json(text, str(path))
    both = value if isinstance(value, dict) and "report" in value else {"report": value}
    benchmark = convert(both, _Benchmark, str(path))
    config = benchmark.config
    backend = config.backend if config else None
    targets = _targets(benchmark, str(path))
    name, parts_ms = _steps(targets, str(path))
    return Imported(
        kind="optimum-benchmark",
        model=backend.model if backend else UNKNOWN,
        task=_task(backend, name),
        measurements=(_measurement(config, targets, name, parts_ms),),
        host=_host(config.environment) if config else Host(),
        runtime=_runtime(backend),
        notes=ignored_fields_note(_ignored_fields(both, targets, name), _remarks(targets)),
    )


def _task(backend: _Backend | None, step: str) -> str:
    """Return the configured task. Without a configuration, only generation can be recognized."""
    if backend is None:
        return "generate" if step == "generate" else UNKNOWN
    return _TASKS.get(backend.task or "", backend.task or UNKNOWN)


def _runtime(backend: _Backend | None) -> Runtime | None:
    if backend is None or backend.name != "pytorch" or backend.version is None:
        return None
    return Runtime(t=0.0, torch=backend.version)


def _ignored_fields(both: object, targets: Mapping[str, _Target], step: str) -> Iterator[str]:
    """Yield the names of ignored configuration fields, target fields and whole targets."""
    yield from (place for place in unknown_fields(both, _Benchmark) if place not in _IRRELEVANT)
    used = {step, *_parts(targets), _FIRST.get(step)}
    report = _report(both) or {}
    for name in targets:
        if name in used:
            yield from (
                f"report.{name}.{place}"
                for place in unknown_fields(report[name], _Target)
                if not place.startswith(_DERIVED)
            )
        elif targets[name].latency or targets[name].memory:
            yield f"report.{name}"


def _remarks(targets: Mapping[str, _Target]) -> dict[str, str]:
    return {
        f"report.{name}": _summary(_times_ms(target))
        for name, target in targets.items()
        if target.latency and len(target.latency.values) > 1
    }


def _summary(times_ms: Sequence[float]) -> str:
    """Summarize latencies that belong to no step."""
    once_ms = _without_repeats(times_ms)
    repeated = f", each once of {len(times_ms):,} in the file" if len(once_ms) < len(times_ms) else ""
    return (
        f"{len(once_ms):,} latencies{repeated}, median {median(once_ms):.3g} ms,"
        f" {min(once_ms):.3g} to {max(once_ms):.3g} ms"
    )


def _without_repeats(times_ms: Sequence[float]) -> Sequence[float]:
    """Return each latency once. Version 0.6 repeats those of all earlier calls with every call."""
    starts = [place for place, time_ms in enumerate(times_ms) if time_ms == times_ms[0]]
    blocks = [times_ms[start:end] for start, end in pairwise([*starts, len(times_ms)])]
    grows = all(len(old) < len(new) and new[: len(old)] == old for old, new in pairwise(blocks))
    return blocks[-1] if grows else times_ms


def _measurement(
    config: _Configuration | None, targets: Mapping[str, _Target], name: str, parts_ms: dict[str, list[float]]
) -> Measurement:
    wall_ms = [sum(step) for step in zip(*parts_ms.values(), strict=True)]
    samples = _samples(config, targets[next(iter(parts_ms))], name)
    first = targets.get(_FIRST.get(name, ""))
    return Measurement(
        config=_options(config, name, samples),
        wall_ms=wall_ms,
        warmup_ms=_times_ms(first) if first else [],
        parts_ms=parts_ms if len(parts_ms) > 1 else {},
        memory=_memory([target.memory for part, target in targets.items() if part in (name, *parts_ms)]),
        energy=_energy(config, targets.get(name), len(wall_ms)),
        model=_model(config),
        samples_per_step=samples,
        new_tokens=_new_tokens(config, targets, samples) if name == "generate" else None,
        marks=("timed by CUDA events",) if _device(config).startswith("cuda") else (),
    )


def _targets(benchmark: _Benchmark, where: str) -> dict[str, _Target]:
    """Return the measured targets, each validated under its name."""
    measured = {name: value for name, value in benchmark.report.items() if value is not None}
    return {name: convert(value, _Target, f"{where}: {name}") for name, value in measured.items()}


def _steps(targets: Mapping[str, _Target], where: str) -> tuple[str, dict[str, list[float]]]:
    """Return the target that provides the steps, and their times in milliseconds by part."""
    parts = _parts(targets)
    if parts:
        return "generate", {name: _times_ms(target) for name, target in parts.items()}
    for name in _STEPS:
        if name in targets and _times_ms(targets[name]):
            return name, {name: _times_ms(targets[name])}
    timed = [name for name, target in targets.items() if target.latency]
    raise BenchtuiError(
        f"{where}: no latencies of {', '.join(_STEPS)}, or of prefill and decode; found {quoted(timed)}"
    )


def _parts(targets: Mapping[str, _Target]) -> dict[str, _Target]:
    """Return prefill and decode if every generation has one of each; otherwise nothing."""
    parts = {name: targets[name] for name in _PARTS if name in targets}
    amounts = [len(_times_ms(target)) for target in parts.values()]
    return parts if len(amounts) == len(_PARTS) and amounts[0] and len(set(amounts)) == 1 else {}


def _times_ms(target: _Target) -> list[float]:
    return [1000 * time_s for time_s in target.latency.values] if target.latency else []


def _options(config: _Configuration | None, target: str, samples: int | None) -> Config:
    """Return the configured options. Without a configuration, only the target is known."""
    if config is None:
        return Config(
            device=UNKNOWN,
            precision=UNKNOWN,
            compile=UNKNOWN,
            padding=UNKNOWN,
            batch_size=samples or 1,
            label=f"{target} bs={samples}" if samples else target,
        )
    backend, shapes = config.backend, config.scenario.input_shapes
    usual = Config(device=_device(config))
    batch_size = shapes.batch_size or samples
    theirs = backend.name != "pytorch" or shapes.batch_size is None or shapes.sequence_length is None
    return Config(
        device=usual.device,
        precision=_precision(backend),
        compile=_compile(backend),
        attention=(backend.attn_implementation or "auto").removesuffix("_2").removesuffix("_attention"),
        threads=min(max(backend.intra_op_num_threads or 0, 0), MOST_THREADS),
        batch_size=batch_size or usual.batch_size,
        sequence_length=shapes.sequence_length or usual.sequence_length,
        label=f"{backend.name} {config.name} bs={batch_size or UNKNOWN}" if theirs else "",
    )


def _compile(backend: _Backend) -> str:
    """Return the mode of torch.compile. Unknown for backends other than PyTorch."""
    if backend.name != "pytorch":
        return UNKNOWN
    return str(backend.torch_compile_config.get("mode") or "default") if backend.torch_compile else "off"


def _device(config: _Configuration | None) -> str:
    backend = config.backend if config else None
    if backend is None or backend.device is None:
        return UNKNOWN
    ids = backend.device_ids or ""
    return f"{backend.device}:{ids}" if ids.isdecimal() else backend.device


def _precision(backend: _Backend) -> str:
    """Return the requested precision."""
    if backend.quantization_config:
        return str(backend.quantization_config.get("quant_method", UNKNOWN))
    if backend.autocast_enabled:
        return f"amp-{_DTYPES.get(backend.autocast_dtype or '', backend.autocast_dtype or UNKNOWN)}"
    dtype = backend.torch_dtype or backend.dtype or UNKNOWN
    return "tf32" if backend.allow_tf32 and dtype == "float32" else _DTYPES.get(dtype, dtype)


def _samples(config: _Configuration | None, target: _Target, name: str) -> int | None:
    """Return samples per step: None for the configured batch size, or derived from a rate; 0 if unknown."""
    if config and config.scenario.input_shapes.batch_size:
        return None
    amount = _volume(target, "samples/s")
    return 0 if amount is None or name == "train" or amount > LARGEST else round(amount)


def _volume(target: _Target | None, unit: str) -> float | None:
    """Return the amount processed per call: the rate in this unit times the mean time. None if unknown."""
    times_ms = _times_ms(target) if target else []
    if target is None or not times_ms or target.throughput is None or target.throughput.unit != unit:
        return None
    return target.throughput.value * sum(times_ms) / len(times_ms) / 1000


def _new_tokens(
    config: _Configuration | None, targets: Mapping[str, _Target], samples: int | None
) -> int | None:
    """Return tokens generated per sample: as configured, or one plus the decoded ones. None if unknown."""
    configured = config.scenario.generate_kwargs.get("max_new_tokens") if config else None
    if isinstance(configured, int) and 0 < configured < MOST_NEW_TOKENS:
        return configured
    batch_size = samples or (config.scenario.input_shapes.batch_size if config else None)
    decoded = _volume(targets.get("decode"), "tokens/s")
    if not batch_size or decoded is None or decoded / batch_size >= MOST_NEW_TOKENS:
        return None
    return 1 + round(decoded / batch_size)


def _memory(peaks: Sequence[_Memory | None]) -> Memory | None:
    """Return the maximum of each peak."""
    stated = [peak for peak in peaks if peak]
    if not stated:
        return None

    def highest(field: str) -> float | None:
        return max((value for peak in stated if (value := getattr(peak, field)) is not None), default=None)

    return Memory(
        peak_rss_mb=highest("max_ram"),
        peak_device_mb=highest("max_process_vram"),
        peak_reserved_mb=highest("max_reserved"),
        peak_allocated_mb=highest("max_allocated"),
    )


def _energy(config: _Configuration | None, target: _Target | None, steps: int) -> Energy | None:
    """Return the energy of all steps, computed from that of one call."""
    if target is None or target.energy is None:
        return None
    one = target.energy.gpu if _device(config).startswith("cuda") else target.energy.cpu
    return Energy(energy_j=one * J_IN_KWH * steps)


def _model(config: _Configuration | None) -> Model | None:
    if config is None:
        return None
    weights: dict[bool | None, Weights | None] = {True: "random", False: "pretrained", None: None}
    return Model(name=config.backend.model, weights=weights[config.backend.no_weights])


def _host(environment: _Environment) -> Host:
    versions = {name: getattr(environment, f"{name}_version") for name in _PACKAGES}
    return Host(
        platform=environment.platform,
        python=environment.python_version,
        processor=(environment.cpu or "").strip() or None,
        cpu_count=environment.cpu_count,
        memory_mb=environment.cpu_ram_mb,
        gpus=tuple(Gpu(index=index, name=name) for index, name in enumerate(environment.gpu)),
        packages={name: version for name, version in versions.items() if version},
    )

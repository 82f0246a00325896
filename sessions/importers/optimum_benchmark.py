"""optimum-benchmark's ``benchmark.json`` with its configuration, or ``benchmark_report.json`` alone.

By version 0.6: latencies are lists of seconds, memory is in 10**6 bytes, energy in kWh a call. On CUDA it times
with events, so that a step is the device's time. The first call before its warm-up becomes the warm-up step
here, for it is the one that compiles. Its energy is that of the GPU on CUDA, else of the processor.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.facts import Energy, Host, Memory, Model
from benchtui.sessions.importers.decoding import NotNegative, typed, whole
from benchtui.sessions.importers.found import Found, Measurement
from benchtui.sessions.sweep import MOST_THREADS, UNKNOWN, Config, Size, Weights

J_IN_KWH = 3.6e6

_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_TASKS = {"text-classification": "classify", "text-generation": "generate"}
_STEPS = ("forward", "generate", "call", "train")
"""Targets whose call is a whole step."""
_FIRST = {
    "forward": "first_forward",
    "generate": "first_generate",
    "call": "first_call",
    "prefill": "first_generate",
}
"""The target that holds the very first call of each."""


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
    transformers_version: str | None = None


class _Configuration(msgspec.Struct):
    name: str
    backend: _Backend
    scenario: _Scenario
    environment: _Environment = msgspec.field(default_factory=_Environment)


class _Benchmark(msgspec.Struct):
    report: dict[str, Any]
    config: _Configuration | None = None


def is_one(value: object) -> bool:
    """Whether it is a benchmark or a report: an object of targets with latency or memory."""
    report = value.get("report", value) if isinstance(value, dict) else None
    if not isinstance(report, dict) or not report:
        return False
    return all(
        each is None or (isinstance(each, dict) and {"latency", "memory"} <= set(each))
        for each in report.values()
    )


def found(text: str, path: Path) -> Found:
    """The one case of the file. Raises BenchtuiError with the place of what isn't allowed."""
    value = whole(text, str(path))
    both = value if isinstance(value, dict) and "report" in value else {"report": value}
    benchmark = typed(both, _Benchmark, str(path))
    config = benchmark.config
    backend = config.backend if config else None
    return Found(
        kind="optimum-benchmark",
        model=backend.model if backend else UNKNOWN,
        task=_TASKS.get(backend.task or "", backend.task or UNKNOWN) if backend else UNKNOWN,
        measurements=(_measurement(benchmark, str(path)),),
        host=_host(config.environment) if config else Host(),
        torch=backend.version if backend and backend.name == "pytorch" else None,
    )


def _measurement(benchmark: _Benchmark, where: str) -> Measurement:
    targets = _targets(benchmark, where)
    report = {name: target for name, target in targets.items() if target.latency}
    name, parts_ms = _steps(report, where)
    wall_ms = [sum(step) for step in zip(*parts_ms.values(), strict=True)]
    first = report.get(_FIRST.get(name, "warmup"))
    new_tokens = _new_tokens(benchmark.config)
    return Measurement(
        config=_options(benchmark.config, name),
        wall_ms=wall_ms,
        warmup_ms=_times_ms(first) if first else [],
        parts_ms=parts_ms if len(parts_ms) > 1 else {},
        memory=_memory(report[name].memory),
        energy=_energy(benchmark, targets.get("generate" if name == "prefill" else name), len(wall_ms)),
        model=_model(benchmark.config),
        samples_per_step=_samples(benchmark.config, report[name], name),
        new_tokens=new_tokens,
        marks=("timed by CUDA events",) if _device(benchmark.config).startswith("cuda") else (),
    )


def _targets(benchmark: _Benchmark, where: str) -> dict[str, _Target]:
    """The targets that were measured, each checked under its name."""
    measured = {name: value for name, value in benchmark.report.items() if value is not None}
    return {name: typed(value, _Target, f"{where}: {name}") for name, value in measured.items()}


def _steps(report: Mapping[str, _Target], where: str) -> tuple[str, dict[str, list[float]]]:
    """The target that stands for the steps, and their times by part."""
    prefill, decode = report.get("prefill"), report.get("decode")
    if prefill and decode and 0 < len(_times_ms(prefill)) == len(_times_ms(decode)):
        return "prefill", {"prefill": _times_ms(prefill), "decode": _times_ms(decode)}
    for name in _STEPS:
        if name in report and _times_ms(report[name]):
            return name, {name: _times_ms(report[name])}
    raise BenchtuiError(
        f"{where}: no latencies of {', '.join(_STEPS)} or prefill with decode; it has {list(report)}"
    )


def _times_ms(target: _Target) -> list[float]:
    return [1000 * time_s for time_s in target.latency.values] if target.latency else []


def _options(config: _Configuration | None, target: str) -> Config:
    """The options, as far as the configuration says; without one the target is all that is known."""
    if config is None:
        return Config(device=UNKNOWN, precision=UNKNOWN, compile=UNKNOWN, padding=UNKNOWN, label=target)
    backend, shapes = config.backend, config.scenario.input_shapes
    usual = Config(device=_device(config))
    theirs = backend.name != "pytorch" or shapes.batch_size is None or shapes.sequence_length is None
    return Config(
        device=usual.device,
        precision=_precision(config),
        compile=str(backend.torch_compile_config.get("mode") or "default") if backend.torch_compile else "off",
        attention=(backend.attn_implementation or "auto").removesuffix("_2").removesuffix("_attention"),
        threads=min(max(backend.intra_op_num_threads or 0, 0), MOST_THREADS),
        batch_size=shapes.batch_size or usual.batch_size,
        sequence_length=shapes.sequence_length or usual.sequence_length,
        label=f"{backend.name} {config.name} bs={shapes.batch_size or UNKNOWN}" if theirs else "",
    )


def _device(config: _Configuration | None) -> str:
    backend = config.backend if config else None
    if backend is None or backend.device is None:
        return UNKNOWN
    ids = backend.device_ids or ""
    return f"{backend.device}:{ids}" if ids.isdecimal() else backend.device


def _precision(config: _Configuration) -> str:
    """The precision that was asked for; without one it is fp32 by the rule of transformers before 5."""
    backend = config.backend
    if backend.quantization_config:
        return str(backend.quantization_config.get("quant_method", UNKNOWN))
    if backend.autocast_enabled:
        return f"amp-{_DTYPES.get(backend.autocast_dtype or '', backend.autocast_dtype or UNKNOWN)}"
    old = (config.environment.transformers_version or "").startswith("4.")
    dtype = backend.torch_dtype or ("float32" if old else UNKNOWN)
    return "tf32" if backend.allow_tf32 and dtype == "float32" else _DTYPES.get(dtype, dtype)


def _samples(config: _Configuration | None, target: _Target, name: str) -> int | None:
    """Samples of a step: the batch size, or without it what throughput and latency say together."""
    if config and config.scenario.input_shapes.batch_size:
        return None
    rate, times_ms = target.throughput, _times_ms(target)
    if rate is None or rate.unit != "samples/s" or name == "train":
        return None
    return round(rate.value * sum(times_ms) / len(times_ms) / 1000)


def _new_tokens(config: _Configuration | None) -> int | None:
    said = config.scenario.generate_kwargs.get("max_new_tokens") if config else None
    return said if isinstance(said, int) and 0 < said < 10**9 else None


def _memory(memory: _Memory | None) -> Memory | None:
    if memory is None:
        return None
    return Memory(
        peak_rss_mb=memory.max_ram,
        peak_device_mb=memory.max_process_vram,
        peak_reserved_mb=memory.max_reserved,
        peak_allocated_mb=memory.max_allocated,
    )


def _energy(benchmark: _Benchmark, target: _Target | None, steps: int) -> Energy | None:
    """Energy of all steps, from that of one call."""
    if target is None or target.energy is None:
        return None
    one = target.energy.gpu if _device(benchmark.config).startswith("cuda") else target.energy.cpu
    return Energy(energy_j=one * J_IN_KWH * steps)


def _model(config: _Configuration | None) -> Model | None:
    if config is None:
        return None
    weights: dict[bool | None, Weights | None] = {True: "random", False: "pretrained", None: None}
    return Model(name=config.backend.model, weights=weights[config.backend.no_weights])


def _host(said: _Environment) -> Host:
    packages = {"transformers": said.transformers_version} if said.transformers_version else {}
    return Host(
        platform=said.platform,
        python=said.python_version,
        processor=(said.cpu or "").strip() or None,
        cpu_count=said.cpu_count,
        memory_mb=said.cpu_ram_mb,
        packages=packages,
    )

"""Importer for transformers' ``benchmark_v2``: one case per configuration, one step per generation of a batch.

Files are those of ``benchmark_results/`` (an object by hash of the configuration) and the lines that the runner
uploads to the hub. Times are in seconds. As in ``framework/data_classes.py``, the time to the first token is
that of the batch's first request, and the inter-token latency is the mean between the first and the last
timestamp of a generation, including its end. The device and the dtype of the weights are constants in that code
and not in the file, so they are unknown.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.events import Runtime
from benchtui.sessions.importers.decode import (
    NotNegative,
    Positive,
    Whole,
    common_value,
    convert,
    ignored_fields_note,
    object_keys,
    parse_json_lines,
    try_parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.imported import LONGEST_LABEL, MB_IN_GIB, MB_IN_MIB, Imported, Measurement
from benchtui.sessions.payloads import Gpu, Host, Model
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import LARGEST, UNKNOWN, Config, Size

REQUIRED = ("config", "measurements", "metadata")
"""Required keys of a result."""

_HASH = "benchmark_config_hash"
_IN_NAME = ("config.name", "config.gpu_monitoring", "config.measurement_iterations")
"""Settings of the measurement, and a name composed of the other settings."""
_DERIVED = ("measurements.timestamps", "measurements.shape_and_decoded_outputs", "metadata.success", _HASH)
"""Fields that the times are derived from, and the generated texts."""
_ATTENTIONS = {"flash_attention_2": "flash", "flash_attention_3": "flash3", "flex_attention": "flex"}
_KERNELS = {"math": "math", "flash_attention": "flash", "efficient_attention": "efficient"}
_BATCHING_NOTE = "continuous batching: the time to the first token is that of the batch's first request"


class _Hardware(msgspec.Struct):
    gpu_name: str | None = None
    gpu_memory_total_gb: NotNegative | None = None
    python_version: str | None = None
    torch_version: str | None = None
    cuda_version: str | None = None
    cpu_count: Whole | None = None
    memory_total_mb: NotNegative | None = None


class _Metadata(msgspec.Struct):
    model_id: str = UNKNOWN
    timestamp: str | None = None
    branch_name: str | None = None
    commit_id: str | None = None
    commit_message: str | None = None
    hardware_info: _Hardware = msgspec.field(default_factory=_Hardware)


class _Configuration(msgspec.Struct):
    batch_size: Size
    sequence_length: Size
    num_tokens_to_generate: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    warmup_iterations: Whole = 0
    attn_implementation: str = UNKNOWN
    sdpa_backend: str | None = None
    compile_mode: str | None = None
    kernelize: bool = False
    continuous_batching: bool = False


class _Measurements(msgspec.Struct):
    e2e_latency: list[Positive]
    time_to_first_token: list[NotNegative] = []
    inter_token_latency: list[NotNegative | None] = []


class _Result(msgspec.Struct):
    config: _Configuration
    measurements: _Measurements
    metadata: _Metadata


def keys(value: object) -> set[str]:
    """Return the keys of the first result."""
    if isinstance(value, dict) and not set(REQUIRED) & set(value):
        value = next(iter(value.values()), None)
    return object_keys(value)


def parse(text: str, path: Path) -> Imported:
    """Parse every result. Raises BenchtuiError naming the place of an invalid value."""
    entries = _entries(text, str(path))
    results = [convert(value, _Result, where) for where, value in entries]
    metadata = [result.metadata for result in results]
    return Imported(
        kind="benchmark-v2",
        model=common_value((item.model_id for item in metadata), "models", str(path)),
        task="generate",
        warmup=min((result.config.warmup_iterations for result in results), default=0),
        measurements=tuple(_measurement(result) for result in results),
        host=_host(metadata[0].hardware_info),
        runtime=_runtime(metadata[0].hardware_info),
        measured=min((item.timestamp for item in metadata if item.timestamp), default=None),
        notes=tuple(_notes(results, [value for _, value in entries])),
    )


def _entries(text: str, where: str) -> list[tuple[str, object]]:
    """Return each result with its place, from an object by hash or from JSON lines."""
    whole = try_parse_json(text)
    if not isinstance(whole, dict) or set(REQUIRED) <= set(whole):
        return parse_json_lines(text, where)
    return [(f"{where}: {visible(name, 12)}", value) for name, value in whole.items()]


def _measurement(result: _Result) -> Measurement:
    times = result.measurements
    new_tokens = result.config.num_tokens_to_generate
    return Measurement(
        config=_options(result.config),
        wall_ms=[1000 * time_s for time_s in times.e2e_latency],
        parts_ms=_parts_ms(times, new_tokens),
        model=Model(name=result.metadata.model_id),
        new_tokens=new_tokens,
        failure=None if times.e2e_latency else "no generation succeeded",
    )


def _parts_ms(times: _Measurements, new_tokens: int) -> dict[str, list[float]]:
    """Return prefill and decode of each generation, without a part that the file lacks for any generation."""
    columns: dict[str, tuple[Sequence[float | None], int]] = {
        "prefill": (times.time_to_first_token, 1),
        "decode": (times.inter_token_latency, new_tokens - 1),
    }
    return {
        part: [1000 * time_s * times_in_step for time_s in column if time_s is not None]
        for part, (column, times_in_step) in columns.items()
        if len(column) == len(times.e2e_latency) and None not in column and times_in_step
    }


def _options(config: _Configuration) -> Config:
    """Return the options of a case. Options that a session lacks go into a label."""
    attention = _attention(config)
    options = Config(
        device=UNKNOWN,
        precision=UNKNOWN,
        compile=config.compile_mode or "off",
        attention=attention,
        batch_size=config.batch_size,
        sequence_length=config.sequence_length,
        padding="longest",  # the prompts of a batch are the same text
        new_tokens=config.num_tokens_to_generate,
    )
    extra = [
        *(["kernelized"] if config.kernelize else []),
        *(["continuous batching"] if config.continuous_batching else []),
    ]
    if not extra:
        return options
    named = f"{attention} compile={options.compile} bs={config.batch_size} seq={config.sequence_length}"
    label = " ".join([named, f"new={config.num_tokens_to_generate}", *extra])[:LONGEST_LABEL]
    return msgspec.structs.replace(options, label=label)


def _attention(config: _Configuration) -> str:
    """Return the attention in the syntax of a sweep, such as ``sdpa-math``."""
    name = _ATTENTIONS.get(config.attn_implementation, config.attn_implementation)
    if name != "sdpa" or config.sdpa_backend is None:
        return visible(name, LONGEST_VALUE)
    return f"sdpa-{visible(_KERNELS.get(config.sdpa_backend, config.sdpa_backend), LONGEST_VALUE)}"


def _host(hardware: _Hardware) -> Host:
    memory_gb, memory_mib = hardware.gpu_memory_total_gb, hardware.memory_total_mb
    gpu_mb = None if memory_gb is None else memory_gb * MB_IN_GIB
    return Host(
        python=hardware.python_version,
        cpu_count=hardware.cpu_count,
        memory_mb=None if memory_mib is None else memory_mib * MB_IN_MIB,
        gpus=(Gpu(index=0, name=hardware.gpu_name, memory_mb=gpu_mb),) if hardware.gpu_name else (),
    )


def _runtime(hardware: _Hardware) -> Runtime | None:
    if hardware.torch_version is None:
        return None
    return Runtime(t=0.0, torch=hardware.torch_version, cuda=hardware.cuda_version)


def _notes(results: Sequence[_Result], values: Sequence[object]) -> Iterator[str]:
    """Yield caveats about the file as a whole."""
    commits = dict.fromkeys(result.metadata.commit_id for result in results if result.metadata.commit_id)
    if commits:
        named = ", ".join(visible(commit, LONGEST_VALUE) for commit in commits)
        yield f"measured at commit {named} of transformers"
    if any(result.config.continuous_batching for result in results):
        yield _BATCHING_NOTE
    read = (*_IN_NAME, *_DERIVED)
    yield from ignored_fields_note(
        place for value in values for place in unknown_fields(value, _Result) if place not in read
    )

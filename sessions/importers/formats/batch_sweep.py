"""Importer for results of a batch-sweep runner: one case per line, with statistics but no steps.

Each line has one of two forms. The runner itself (``src/runner.py`` and ``src/metrics`` of
NayanaChandrika99/distilbert-benchmark) nests metrics, machine and model as objects: ``metrics``,
``system_info``, ``model_info``. It measures a sequence classifier that it never compiles, on rows padded to
their full length. Memory is in MiB; on a GPU it is that of the whole device, as the driver reports it. The
standard deviation is that of a population. Power and energy are those of additional batches. Tables computed
from such results (``batch_sweep_tables``) have the same units.

The flat form has the keys of those metrics next to ``device`` and ``batch_size``. ``throughput_mean`` is in
samples/s. ``cpu_memory_mb_max`` is the worker's peak; ``gpu_memory_mb_max`` is interpreted as the peak
allocated by tensors.

A ``mixed_precision`` of true requests autocast to fp16, torch's default on CUDA. Whether it was applied is
unknown.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchtui.sessions.events import Runtime
from benchtui.sessions.importers.decode import (
    NotNegative,
    Positive,
    common_value,
    convert,
    ignored_fields_note,
    object_keys,
    parse_json_lines,
    unknown_fields,
)
from benchtui.sessions.importers.formats import batch_sweep_tables as tables
from benchtui.sessions.importers.imported import MB_IN_MIB, Imported, Measurement, sample_deviation
from benchtui.sessions.payloads import Count, Gpu, Host, Memory, Model, Reported
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import UNKNOWN, Config, Size

REQUIRED = ("device", "batch_size", "latency_ms_mean")
"""Required keys of a line in the flat form."""
REQUIRED_NESTED = ("device", "batch_size", "metrics")

_LENGTH_NOTE = (
    "lines without sequence_length: their cases aren't part of a series of batch sizes;"
    " add the key to include them"
)
_MEMORY_NOTE = (
    "memory: converted from MiB, the runner's unit, to MB (10⁶ bytes); on a GPU that of the whole device"
)
_RATES_NOTE = "throughput: mean of the rates of single steps, not total samples over total time"
_ENERGY_NOTE = "power and energy: measured on additional batches, not on the timed ones"
_AUTOCAST_NOTE = "mixed precision: the published runner sets up autocast but never enters it"
_SHARED = ("dataset", "split", "warmup_runs")
"""Keys that describe the file as a whole, if all lines agree on them."""
_QUOTED_FIELDS = ("smoke_test",)
"""Keys without a corresponding field in a session. Their values are quoted in a note."""


class _Statistics(msgspec.Struct, kw_only=True):
    """Statistics of a line's steps, in either form."""

    latency_ms_mean: Positive
    latency_ms_median: Positive | None = None
    latency_ms_std: NotNegative | None = None
    latency_ms_p90: Positive | None = None
    latency_ms_p95: Positive | None = None
    latency_ms_p99: Positive | None = None
    throughput_mean: Positive | None = None
    cpu_memory_mb_max: Positive | None = None
    gpu_memory_mb_max: Positive | None = None
    cpu_avg_power_w: NotNegative | None = None
    gpu_avg_power_w: NotNegative | None = None
    cpu_energy_j: NotNegative | None = None
    gpu_energy_j: NotNegative | None = None
    sequence_length: Size | None = None
    iterations: Size | None = None
    num_measurements: Size | None = None

    @property
    def steps(self) -> int | None:
        """Number of measured steps."""
        return self.num_measurements or self.iterations


class _GpuInfo(msgspec.Struct, frozen=True):
    name: str


class _SystemInfo(msgspec.Struct):
    hostname: str | None = None
    platform: str | None = None
    python_version: str | None = None
    processor: str | None = None
    cpu_count: Count | None = None
    torch_version: str | None = None
    cuda_version: str | None = None
    cudnn_version: Count | None = None
    gpu_count: int | None = None
    gpu_info: tuple[_GpuInfo, ...] = ()


class _ModelInfo(msgspec.Struct):
    name: str | None = None
    hidden_size: Count | None = None
    num_hidden_layers: Count | None = None
    num_attention_heads: Count | None = None
    num_parameters: Count | None = None


class _Line(msgspec.Struct, kw_only=True):
    """Fields of a case in both forms."""

    device: str
    batch_size: Size
    mixed_precision: bool | None = None
    precision: str | None = None
    model: str = UNKNOWN
    timestamp: str | None = None


class _TableLine(_Line, kw_only=True):
    """A case from a table of the runner's analysis."""


class _Nested(_Line, kw_only=True):
    """A line in the nested form, as the runner writes it."""

    dataset: str | None = None
    """Hub id and configuration, joined by a slash."""
    split: str | None = None
    warmup_runs: Count | None = None
    metrics: _Statistics
    system_info: _SystemInfo | None = None
    model_info: _ModelInfo | None = None
    max_length: Size | None = None
    sequence_length: Size | None = None
    iterations: Size | None = None


class _Row(msgspec.Struct, frozen=True):
    """A line of either form."""

    line: _Line
    statistics: _Statistics

    @property
    def nested(self) -> _Nested | None:
        """The line, if it is in the nested form."""
        return self.line if isinstance(self.line, _Nested) else None

    @property
    def of_runner(self) -> bool:
        """Whether the runner's conventions apply: its units, and no compilation."""
        return isinstance(self.line, (_Nested, _TableLine))

    @property
    def on_cpu(self) -> bool:
        """Whether the case ran on the CPU."""
        return self.line.device == "cpu"

    @property
    def steps(self) -> int | None:
        """Number of measured steps."""
        requested = self.nested.iterations if self.nested else None
        return self.statistics.num_measurements or self.statistics.iterations or requested


_REPEATED = ("metrics.device", "metrics.batch_size", "metrics.warmup_runs")
"""Fields of a nested line that repeat other fields of the same line."""
_OTHER_DEVICE = {True: ("gpu_avg_power_w", "gpu_energy_j"), False: ("cpu_avg_power_w", "cpu_energy_j")}
"""Metrics of the device that a case did not run on, by whether it ran on the CPU."""


def keys(value: object) -> set[str]:
    """Return the keys of the first line."""
    return object_keys(value)


def required(value: object) -> tuple[str, ...]:
    """Return the required keys of a line. A line with ``metrics`` is in the nested form."""
    return REQUIRED_NESTED if "metrics" in keys(value) else REQUIRED


def matches(value: object) -> bool:
    """Return whether the first line is a case in either form."""
    return keys(value) >= set(required(value))


def parse(text: str, path: Path) -> Imported:
    """Parse every line. Raises BenchtuiError naming the line with an invalid value."""
    values, rows = _read(text, path)
    measurements = tuple(_measurement(row) for row in rows)
    nested = [row.nested for row in rows if row.nested]
    machine, unlike = _common_machine([line.system_info for line in nested if line.system_info])
    return Imported(
        kind="batch-sweep",
        model=common_value((_name(row) for row in rows), "models", str(path)),
        task="classify" if all(row.of_runner for row in rows) else UNKNOWN,
        dataset=_common_dataset(nested),
        warmup=_common_warmup(nested),
        measurements=measurements,
        host=_host(machine),
        runtime=_runtime(machine),
        measured=min((row.line.timestamp for row in rows if row.line.timestamp), default=None),
        grid=not any(measurement.config.label for measurement in measurements),
        notes=(
            *_notes(rows, measurements),
            *_unlike_notes(nested),
            *unlike,
            *_ignored_note(values, rows),
        ),
    )


def _read(text: str, path: Path) -> tuple[list[object], list[_Row]]:
    """Return the decoded lines of a JSONL file or a table, and their rows."""
    if tables.matches(text):
        entries: list[tuple[str, object]] = list(tables.lines(text, str(path)))
        rows = [_table_row(value, where) for where, value in entries]
    else:
        entries = parse_json_lines(text, str(path))
        rows = [_row(value, where) for where, value in entries]
    return [value for _, value in entries], rows


def _row(value: object, where: str) -> _Row:
    if "metrics" in keys(value):
        line = convert(value, _Nested, where)
        return _Row(line, line.metrics)
    return _Row(convert(value, _Line, where), convert(value, _Statistics, where))


def _table_row(value: object, where: str) -> _Row:
    line = convert(value, _TableLine, where, from_text=True)
    return _Row(line, convert(value, _Statistics, where, from_text=True))


def _values(lines: Sequence[_Nested], *names: str) -> set[tuple[object, ...]]:
    return {tuple(getattr(line, name) for name in names) for line in lines}


def _unlike_notes(lines: Sequence[_Nested]) -> Iterator[str]:
    """Yield a note for each key that describes the whole file but differs between lines."""
    yield from (f"{name}: differs between lines; ignored" for name in _SHARED if len(_values(lines, name)) > 1)


def _common_warmup(lines: Sequence[_Nested]) -> int:
    """Return the number of warm-up steps on which all lines agree; 0 otherwise."""
    return lines[0].warmup_runs or 0 if len(_values(lines, "warmup_runs")) == 1 else 0


def _common_dataset(lines: Sequence[_Nested]) -> str:
    """Return the dataset of all lines in the syntax of a sweep: ``repository:configuration:split``."""
    if len(_values(lines, "dataset", "split")) != 1:
        return UNKNOWN
    line = lines[0]
    repository, _, configuration = (line.dataset or "").rpartition("/")
    parts = (repository, configuration, line.split)
    return ":".join(part for part in parts if part) if repository and line.split else UNKNOWN


def _measurement(row: _Row) -> Measurement:
    statistics, rate = row.statistics, row.statistics.throughput_mean
    return Measurement(
        config=_options(row),
        reported=Reported(
            steps=row.steps,
            latency_mean_ms=statistics.latency_ms_mean,
            latency_median_ms=statistics.latency_ms_median,
            latency_std_ms=sample_deviation(statistics.latency_ms_std, row.steps if row.nested else None),
            latency_p90_ms=statistics.latency_ms_p90,
            latency_p95_ms=statistics.latency_ms_p95,
            latency_p99_ms=statistics.latency_ms_p99,
            samples_per_s=1000 * row.line.batch_size / statistics.latency_ms_mean if rate is None else rate,
            mean_power_w=statistics.cpu_avg_power_w if row.on_cpu else statistics.gpu_avg_power_w,
            energy_j=statistics.cpu_energy_j if row.on_cpu else statistics.gpu_energy_j,
        ),
        memory=_memory(row),
        model=_model(row),
    )


def _options(row: _Row) -> Config:
    """Return the options of a line. Without a sequence length, which a session requires, add a label."""
    line, nested, of_runner = row.line, row.nested, row.of_runner
    precision, usual = _precision(row), Config(device=line.device)
    length = row.statistics.sequence_length
    if nested:
        length = length or nested.sequence_length or nested.max_length
    stated = [*([] if precision == UNKNOWN else [precision]), f"bs={line.batch_size}"]
    return Config(
        device=line.device,
        precision=precision,
        compile="off" if of_runner else UNKNOWN,
        padding="max" if of_runner else UNKNOWN,
        batch_size=line.batch_size,
        sequence_length=length or usual.sequence_length,
        label="" if length else " ".join(stated),
    )


def _precision(row: _Row) -> str:
    """Return the requested precision. The runner uses autocast only on CUDA."""
    if row.line.precision is not None:
        return row.line.precision
    if row.nested:
        return "amp-fp16" if row.line.mixed_precision and row.line.device.startswith("cuda") else "fp32"
    return {True: "amp-fp16", False: "fp32", None: UNKNOWN}[row.line.mixed_precision]


def _memory(row: _Row) -> Memory:
    peaks = (row.statistics.cpu_memory_mb_max, row.statistics.gpu_memory_mb_max)
    if not row.of_runner:
        return Memory(peak_rss_mb=peaks[0], peak_allocated_mb=peaks[1])
    rss_mb, device_mb = (None if peak is None else peak * MB_IN_MIB for peak in peaks)
    return Memory(peak_rss_mb=rss_mb, peak_device_mb=device_mb)


def _name(row: _Row) -> str:
    """Return the model's name, from the line or its ``model_info``."""
    name = row.nested.model_info.name if row.nested and row.nested.model_info else None
    return name or UNKNOWN if row.line.model == UNKNOWN else row.line.model


def _model(row: _Row) -> Model:
    info = (row.nested.model_info if row.nested else None) or _ModelInfo()
    return Model(
        name=_name(row),
        parameters=info.num_parameters or None,  # the runner writes 0 if it couldn't count them
        hidden_size=info.hidden_size,
        hidden_layers=info.num_hidden_layers,
        attention_heads=info.num_attention_heads,
    )


def _common_machine(infos: Sequence[_SystemInfo]) -> tuple[_SystemInfo, tuple[str, ...]]:
    """Return the machine facts on which all lines agree, and a note for each on which they don't."""
    columns = {
        name: list(dict.fromkeys(value for info in infos if (value := getattr(info, name))))
        for name in _SystemInfo.__struct_fields__
    }
    unlike = tuple(
        f"system_info.{name}: {len(values)} different values in the file; ignored"
        for name, values in columns.items()
        if len(values) > 1
    )
    return _SystemInfo(**{name: values[0] for name, values in columns.items() if len(values) == 1}), unlike


def _host(info: _SystemInfo) -> Host:
    return Host(
        hostname=info.hostname,
        platform=info.platform,
        python=info.python_version,
        processor=info.processor or None,
        cpu_count=info.cpu_count,
        gpus=tuple(Gpu(index=index, name=gpu.name) for index, gpu in enumerate(info.gpu_info)),
    )


def _runtime(info: _SystemInfo) -> Runtime | None:
    if info.torch_version is None:
        return None
    return Runtime(
        t=0.0,
        torch=info.torch_version,
        cuda=info.cuda_version,
        cudnn=info.cudnn_version,
        cuda_devices=tuple(gpu.name for gpu in info.gpu_info),
    )


def _notes(rows: Sequence[_Row], measurements: Iterable[Measurement]) -> Iterator[str]:
    """Yield caveats about the file as a whole."""
    ours = [row for row in rows if row.of_runner]
    statistics = [row.statistics for row in ours]
    if any(measurement.config.label for measurement in measurements):
        yield _LENGTH_NOTE
    if any(measurement.cpu_memory_mb_max or measurement.gpu_memory_mb_max for measurement in statistics):
        yield _MEMORY_NOTE
    if any(measurement.throughput_mean for measurement in statistics):
        yield _RATES_NOTE
    if any(measurement.cpu_energy_j or measurement.gpu_energy_j for measurement in statistics):
        yield _ENERGY_NOTE
    if any(row.line.mixed_precision for row in ours):
        yield _AUTOCAST_NOTE


def _ignored_note(values: Sequence[object], rows: Sequence[_Row]) -> tuple[str, ...]:
    """Name the ignored fields, with the values of those that describe what was measured."""
    records = [value for value in values if isinstance(value, dict)]
    quoted = {
        name: dict.fromkeys(str(value[name]) for value in records if name in value) for name in _QUOTED_FIELDS
    }
    remarks = {name: visible(", ".join(texts), LONGEST_VALUE) for name, texts in quoted.items()}
    remarks |= dict.fromkeys(tables.DERIVED, "computed from the others")
    pairs = zip(values, rows, strict=True)
    return ignored_fields_note(
        (place for value, row in pairs for place in _ignored_fields(value, row)), remarks
    )


def _ignored_fields(value: object, row: _Row) -> Iterator[str]:
    if row.nested:
        yield from (place for place in unknown_fields(value, _Nested) if place not in _REPEATED)
    else:
        unknown = set(unknown_fields(value, _Statistics))
        yield from (place for place in unknown_fields(value, _Line) if place in unknown)
    inside = "metrics." if row.nested else ""
    yield from (
        f"{inside}{name}" for name in _OTHER_DEVICE[row.on_cpu] if getattr(row.statistics, name) is not None
    )

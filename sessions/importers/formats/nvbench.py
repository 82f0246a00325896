"""Importer for NVBench's ``--json``: one case per state, which is a benchmark with values of its axes on a GPU.

Times are in seconds, written as text. A step is one cold run, with an empty cache: the mean over the samples,
timed by CUDA events, or by the host's clock for benchmarks without a GPU. NVBench's noise is the relative
standard deviation of a sample. The samples themselves are in binary files (``--jsonbin``), which aren't read.
Only states with the same axis values do the same work.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import msgspec

from benchtui.sessions.importers.decode import (
    Positive,
    Whole,
    convert,
    ignored_fields_note,
    keys_with_first_item,
    parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.imported import Imported, Measurement, labeled_case
from benchtui.sessions.payloads import Gpu, Host, Reported
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import UNKNOWN

REQUIRED = ("benchmarks", "devices", "states")
"""Required keys: of the file, and of a benchmark."""
COLD, BATCH = "nv/cold/time/gpu", "nv/batch/time/gpu"
TIMES = {COLD: "nv/cold/sample_size", "nv/cpu_only/time/cpu": "nv/cpu_only/sample_size"}
"""Tag prefixes of the times that can be step times, with the tag of the number of samples."""

_Device = Annotated[int, msgspec.Meta(ge=0, le=9999)]
_SETTINGS = tuple(
    f"benchmarks.{level}{name}"
    for level in ("", "states.")
    for name in (
        *("index", "min_samples", "min_time", "max_noise", "skip_time", "timeout", "devices", "axes"),
        *("type_config_index", "axis_values", "criterion_params", "stopping_criterion"),
        *("run_once", "disable_blocking_kernel", "is_cpu_only"),
    )
)
"""Settings of the measurement, and fields included in the name of a state."""


class _Datum(msgspec.Struct):
    name: str
    value: str | float | int | None = None


class _Summary(msgspec.Struct):
    tag: str
    data: list[_Datum] = []


class _State(msgspec.Struct):
    name: str
    device: _Device | None = None
    summaries: list[_Summary] | None = None
    is_skipped: bool = False
    skip_reason: str | None = None

    @property
    def axes(self) -> str:
        """Name without the device, shared by all states of the same work."""
        return " ".join(word for word in self.name.split() if word != f"Device={self.device}")


class _Benchmark(msgspec.Struct):
    name: str
    states: list[_State]


class _DeviceInfo(msgspec.Struct):
    id: _Device
    name: str
    global_memory_size: Whole | None = None
    ecc_state: bool | None = None


class _Version(msgspec.Struct):
    string: str | None = None


class _Versions(msgspec.Struct):
    nvbench: _Version = msgspec.field(default_factory=_Version)


class _Meta(msgspec.Struct):
    version: _Versions = msgspec.field(default_factory=_Versions)


class _File(msgspec.Struct):
    benchmarks: Annotated[list[_Benchmark], msgspec.Meta(min_length=1)]
    devices: list[_DeviceInfo] | None = None
    meta: _Meta = msgspec.field(default_factory=_Meta)


class _Value(msgspec.Struct):
    """Value of a summary as a number, which the file contains as text."""

    value: Any


class _Time(_Value):
    value: Positive


class _Samples(_Value):
    value: Whole


class _Noise(_Value):
    value: float


def keys(value: object) -> set[str]:
    """Return the keys of the file and of its first benchmark."""
    return keys_with_first_item(value, "benchmarks")


def parse(text: str, path: Path) -> Imported:
    """Parse every state. Raises BenchtuiError naming the place of an invalid value."""
    value = parse_json(text, str(path))
    file = convert(value, _File, str(path))
    states = [(bench.name, state) for bench in file.benchmarks for state in bench.states]
    return Imported(
        kind="nvbench",
        measurements=tuple(_measurement(name, state, str(path)) for name, state in states),
        host=_host(file),
        notes=(*_time_notes(states), *ignored_fields_note(_ignored_fields(value, states))),
    )


def _measurement(name: str, state: _State, where: str) -> Measurement:
    values = _values(state)
    prefix = next((prefix for prefix in TIMES if values.get(f"{prefix}/mean") is not None), None)
    work = " ".join(word for word in (name, state.axes) if word)
    device = UNKNOWN if state.device is None else f"cuda:{state.device}"
    skipped = f": {visible(state.skip_reason, LONGEST_VALUE).rstrip('.')}" if state.skip_reason else ""
    place = f"{where}: {visible(name, LONGEST_VALUE)}, {visible(state.name, LONGEST_VALUE)}"
    reported = None if prefix is None else _reported(values, prefix, place)
    failure = None if reported else f"skipped{skipped}" if state.is_skipped else "no time measured"
    return Measurement(
        config=labeled_case(work, group=work, device=device),
        reported=reported,
        samples_per_step=0,
        marks=("timed by CUDA events",) if prefix == COLD else (),
        failure=failure,
    )


def _reported(values: Mapping[str, Any], prefix: str, where: str) -> Reported:
    """Return the statistics of a time. Raises BenchtuiError naming the summary with an invalid value."""
    mean_s = _number(values, f"{prefix}/mean", _Time, where)
    noise = _number(values, f"{prefix}/stdev/relative", _Noise, where)
    median_s = _number(values, f"{prefix}/median", _Time, where)
    return Reported(
        steps=_number(values, TIMES[prefix], _Samples, where),
        latency_mean_ms=1000 * mean_s,
        latency_median_ms=None if median_s is None else 1000 * median_s,
        latency_std_ms=1000 * mean_s * noise if noise is not None and isfinite(noise) and noise >= 0 else None,
    )


def _number(values: Mapping[str, Any], tag: str, kind: type[_Value], where: str) -> Any:  # noqa: ANN401  (a number)
    """Return the value of a summary as a number of this kind; None if there is no such summary."""
    if values.get(tag) is None:
        return None
    return convert({"value": values[tag]}, kind, f"{where}: {tag}", from_text=True).value


def _values(state: _State) -> dict[str, Any]:
    """Return the value of each summary by its tag."""
    data = ((summary.tag, datum) for summary in state.summaries or () for datum in summary.data)
    return {tag: datum.value for tag, datum in data if datum.name == "value"}


def _host(file: _File) -> Host:
    version = file.meta.version.nvbench.string
    return Host(
        gpus=tuple(
            Gpu(
                index=device.id,
                name=device.name,
                memory_mb=None if device.global_memory_size is None else device.global_memory_size / 1e6,
                ecc=device.ecc_state,
            )
            for device in file.devices or ()
        ),
        packages={"nvbench": version} if version else {},
    )


def _time_notes(states: Sequence[tuple[str, _State]]) -> Iterator[str]:
    """Yield a note on how steps were timed."""
    if any(f"{COLD}/mean" in _values(state) for _, state in states):
        yield "a step is a cold run, timed by CUDA events; times of the host and of batches aren't imported"


def _ignored_fields(value: object, states: Sequence[tuple[str, _State]]) -> Iterator[str]:
    """Yield the names of ignored fields, and the tags of ignored summaries."""
    of_summaries = "benchmarks.states.summaries."
    for place in unknown_fields(value, _File):
        if place not in _SETTINGS and not place.startswith(of_summaries):
            yield place
    used = {
        *TIMES.values(),
        *(f"{item}/{name}" for item in TIMES for name in ("mean", "median", "stdev/relative")),
    }
    yield from (item.tag for _, state in states for item in state.summaries or () if item.tag not in used)

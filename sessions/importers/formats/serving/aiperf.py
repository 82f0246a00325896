"""Importer for aiperf's ``profile_export_aiperf.json``: one case, a load on a server.

Every metric has a unit: times are in milliseconds, the duration in seconds, rates in 1/s. The inter-token
latency is the mean of a request after its first token. Standard deviations are those of a population (aiperf
0.13.0; its documentation says of a sample). Individual requests are in another file, ``profile_export.jsonl``.
"""

from pathlib import Path
from typing import Literal

import msgspec

from benchtui.sessions.importers.decode import (
    NotNegative,
    Positive,
    convert,
    ignored_fields_note,
    object_keys,
    parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.formats.serving import run
from benchtui.sessions.importers.imported import Imported, sample_deviation
from benchtui.sessions.payloads import Host, ReportedTimes
from benchtui.sessions.sweep import SERVE, UNKNOWN

REQUIRED = ("request_latency", "request_count", "benchmark_duration")
"""Required keys of the file."""


class _Duration(msgspec.Struct):
    unit: Literal["sec"]
    avg: Positive


class _Count(msgspec.Struct):
    unit: Literal["requests"]
    avg: NotNegative = 0


class _Requests(msgspec.Struct):
    unit: Literal["requests/sec"]
    avg: NotNegative


class _Tokens(msgspec.Struct):
    unit: Literal["tokens/sec"]
    avg: NotNegative


class _Times(msgspec.Struct):
    unit: Literal["ms"]
    avg: NotNegative
    p50: NotNegative | None = None
    p90: NotNegative | None = None
    p95: NotNegative | None = None
    p99: NotNegative | None = None
    std: NotNegative | None = None


class _Named(msgspec.Struct):
    name: str


class _Models(msgspec.Struct):
    items: list[_Named] = []


class _Endpoint(msgspec.Struct):
    model_names: list[str] = []
    """Names in files of older versions, which have no ``models``."""


class _Load(msgspec.Struct):
    kind: str | None = None
    concurrency: float | None = None
    rate: float | None = None
    request_rate: float | None = None


class _Input(msgspec.Struct):
    models: _Models = msgspec.field(default_factory=_Models)
    endpoint: _Endpoint = msgspec.field(default_factory=_Endpoint)
    phases: list[_Load] = []
    loadgen: _Load = msgspec.field(default_factory=_Load)
    """Load in older versions, which have no ``phases``."""

    @property
    def model(self) -> str:
        """Name of the model, or of several, as aiperf requests them."""
        return ", ".join([*(item.name for item in self.models.items), *self.endpoint.model_names]) or UNKNOWN

    @property
    def load(self) -> str:
        """Measured load, in aiperf's terms."""
        measured = next((phase for phase in self.phases if phase.kind == "profiling"), self.loadgen)
        amounts = {name: getattr(measured, name) for name in ("concurrency", "rate", "request_rate")}
        return " ".join(
            ["load", *(f"{name}={value:g}" for name, value in amounts.items() if value is not None)]
        )


class _File(msgspec.Struct):
    request_latency: _Times
    request_count: _Count
    benchmark_duration: _Duration
    request_throughput: _Requests | None = None
    time_to_first_token: _Times | None = None
    inter_token_latency: _Times | None = None
    output_token_throughput: _Tokens | None = None
    total_token_throughput: _Tokens | None = None
    error_request_count: _Count | None = None
    aiperf_version: str | None = None
    start_time: str | None = None
    input_config: _Input = msgspec.field(default_factory=_Input)


def keys(value: object) -> set[str]:
    """Return the keys of the file."""
    return object_keys(value)


def parse(text: str, path: Path) -> Imported:
    """Parse the file's only case. Raises BenchtuiError naming the place of an invalid value."""
    value = parse_json(text, str(path))
    file = convert(value, _File, str(path))
    version = file.aiperf_version
    return Imported(
        kind="aiperf",
        model=file.input_config.model,
        task=SERVE.name,
        measurements=(run.measurement(_run(file)),),
        host=Host(packages={"aiperf": version} if version else {}),
        measured=file.start_time,
        notes=(run.STEP_NOTE, run.PER_REQUEST_NOTE, *ignored_fields_note(unknown_fields(value, _File))),
    )


def _run(file: _File) -> run.ServingRun:
    completed = round(file.request_count.avg)
    rate, tokens, new = file.request_throughput, file.total_token_throughput, file.output_token_throughput
    return run.ServingRun(
        name=file.input_config.load,
        model=file.input_config.model,
        duration_s=file.benchmark_duration.avg,
        completed=completed,
        failed=round(file.error_request_count.avg) if file.error_request_count else 0,
        requests_per_s=rate.avg if rate else None,
        tokens_per_s=tokens.avg if tokens else None,
        new_tokens_per_s=new.avg if new else None,
        first_token=_times(file.time_to_first_token, completed),
        per_token=_times(file.inter_token_latency, completed),
        request=_times(file.request_latency, completed),
    )


def _times(times: _Times | None, requests: int) -> ReportedTimes | None:
    if times is None:
        return None
    return ReportedTimes(
        n=requests,
        mean_ms=times.avg,
        median_ms=times.p50,
        std_ms=sample_deviation(times.std, requests),
        p90_ms=times.p90,
        p95_ms=times.p95,
        p99_ms=times.p99,
    )

"""Importer for llama-bench's ``-o json`` and ``-o jsonl``: one case per test, one step per repetition.

Times are in nanoseconds. A test has options that a session lacks (GPU layers, cache type, batch in tokens), so
a case is named in llama-bench's terms: the model, the test as in its table (``pp512``, ``tg128``), and the
options that differ. Options shared by all tests are listed once, in a note. A test is compared only with the
same test, because prompt processing and generation are different work.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from benchtui.sessions.importers.decode import (
    Positive,
    Whole,
    convert,
    ignored_fields_note,
    object_keys,
    parse_json_lines,
    try_parse_json,
)
from benchtui.sessions.importers.imported import Imported, Measurement, labeled_case
from benchtui.sessions.payloads import Gpu, Host, Model, Reported
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import LARGEST, MOST_THREADS, UNKNOWN

REQUIRED = ("n_prompt", "n_gen", "avg_ns")
"""Keys that identify a test."""

_NOT_OPTIONS = (
    *("build_commit", "build_number", "cpu_info", "gpu_info", "backends", "model_filename", "model_type"),
    *("model_size", "model_n_params", "n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns"),
    *("avg_ts", "stddev_ts", "samples_ns", "samples_ts"),
)
"""Fields that aren't options of a case, or are reported elsewhere."""
_RESULT_PREFIXES = ("avg_", "stddev_", "samples_")
"""Prefixes of result fields. Some builds write more of them."""
_Tokens = Annotated[int, msgspec.Meta(ge=0, le=LARGEST // 4)]


class _Test(msgspec.Struct):
    n_prompt: _Tokens
    n_gen: _Tokens
    avg_ns: Positive
    avg_ts: Positive
    samples_ns: list[Positive] = []
    n_depth: _Tokens = 0
    n_threads: Annotated[int, msgspec.Meta(ge=0, le=MOST_THREADS)] = 0
    n_gpu_layers: int | None = None
    main_gpu: Annotated[int, msgspec.Meta(ge=0, le=9999)] = 0
    backends: str = ""
    model_type: str = UNKNOWN
    model_filename: str = UNKNOWN
    model_n_params: Whole | None = None
    cpu_info: str | None = None
    gpu_info: str | None = None
    build_commit: str | None = None
    build_number: int | None = None
    test_time: str | None = None


def keys(value: object) -> set[str]:
    """Return the keys of the first test of a list, or of the first line."""
    return object_keys(value[0] if isinstance(value, list) and value else value)


def parse(text: str, path: Path) -> Imported:
    """Parse every test. Raises BenchtuiError naming the place of an invalid value."""
    whole = try_parse_json(text)
    places = (
        [(f"{path}, test {place}", value) for place, value in enumerate(whole, 1)]
        if isinstance(whole, list)
        else parse_json_lines(text, str(path))
    )
    tests = [(convert(value, _Test, where), convert(value, dict[str, Any], where)) for where, value in places]
    raw_tests = [raw for _, raw in tests]
    varied = _varied(raw_tests)
    models = list(dict.fromkeys(test.model_filename for test, _ in tests))
    return Imported(
        kind="llama-bench",
        model=models[0] if len(models) == 1 else f"{len(models)} models",
        task="generate" if any(test.n_gen for test, _ in tests) else "lm-forward",
        measurements=tuple(_measurement(test, raw, varied) for test, raw in tests),
        host=_host([test for test, _ in tests]),
        measured=min((test.test_time for test, _ in tests if test.test_time), default=None),
        notes=tuple(_notes(raw_tests, varied)),
    )


def _host(tests: Sequence[_Test]) -> Host:
    """Return the machine of the first test, with the build of llama.cpp as a package version."""
    first = tests[0]
    names = [name.strip() for name in (first.gpu_info or "").split(",") if name.strip()]
    build = [f"{part}" for part in (first.build_number, first.build_commit) if part]
    return Host(
        processor=(first.cpu_info or "").strip() or None,
        gpus=tuple(Gpu(index=index, name=name) for index, name in enumerate(names)),
        packages={"llama.cpp": " ".join(build)} if build else {},
    )


def _options(tests: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    names = dict.fromkeys(name for test in tests for name in test if name not in _NOT_OPTIONS)
    return tuple(name for name in names if not name.startswith(_RESULT_PREFIXES))


def _varied(tests: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the options in which the tests differ."""
    return tuple(name for name in _options(tests) if len({repr(test.get(name)) for test in tests}) > 1)


def _notes(tests: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> Iterator[str]:
    """Yield notes on options shared by all tests, differing machines, and ignored fields."""
    yield "a sample is one repetition of a test: all of its tokens"
    first = tests[0]
    alike = [f"{name}={_value(first.get(name))}" for name in _options(tests) if name not in varied]
    if alike:
        yield f"options shared by all tests: {', '.join(alike)}"
    for name in ("cpu_info", "gpu_info", "build_commit"):
        if len({repr(test.get(name)) for test in tests}) > 1:
            yield f"{name} differs between the tests; using the first one"
    unknown = {name for test in tests for name in test if name.startswith(_RESULT_PREFIXES)} - set(_NOT_OPTIONS)
    yield from ignored_fields_note(
        ["model_size"] * any("model_size" in test for test in tests) + sorted(unknown)
    )


def _value(value: object) -> str:
    """Format an option's value on one line: text as it is, anything else as JSON."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return visible(text, LONGEST_VALUE)


def _measurement(test: _Test, raw: Mapping[str, Any], varied: tuple[str, ...]) -> Measurement:
    tokens = test.n_prompt + test.n_gen
    options = (f"{name}={raw[name]}" for name in varied if name in raw)
    return Measurement(
        config=labeled_case(
            " ".join([test.model_type, _name(test), *options]),
            group=_name(test),
            device=_device(test),
            threads=test.n_threads,
        ),
        wall_ms=[time_ns / 1e6 for time_ns in test.samples_ns],
        tokens=tokens,
        reported=None
        if test.samples_ns
        else Reported(latency_mean_ms=test.avg_ns / 1e6, tokens_per_s=test.avg_ts),
        model=Model(name=test.model_filename, architecture=test.model_type, parameters=test.model_n_params),
        samples_per_step=1,
        new_tokens=test.n_gen or None,
    )


def _name(test: _Test) -> str:
    """Return the test's name in llama-bench's own table."""
    parts = [f"pp{test.n_prompt}"] * (test.n_prompt > 0) + [f"tg{test.n_gen}"] * (test.n_gen > 0)
    depth = f" @ d{test.n_depth}" if test.n_depth else ""
    return "+".join(parts) + depth


def _device(test: _Test) -> str:
    """Return the backend, or ``cpu`` if all layers are on the CPU. Unknown if the test names no backend."""
    backends = test.backends.lower().replace("blas", "").strip(",")
    if test.n_gpu_layers == 0 or backends in ("", "cpu"):
        return "cpu" if test.backends else UNKNOWN
    return f"cuda:{test.main_gpu}" if backends == "cuda" else backends

"""llama-bench's ``-o json`` and ``-o jsonl``: a case a test, a step a repetition, with times in nanoseconds.

A test has options of its own (layers on the GPU, type of the cache, batch in tokens), so that a case is named
in llama-bench's words: the model, the test as in its table (``pp512``, ``tg128``), and the options that differ.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from benchtui.sessions.facts import Host, Model, Reported
from benchtui.sessions.importers.decoding import Positive, Whole, lines, parsed, typed
from benchtui.sessions.importers.found import Found, Measurement
from benchtui.sessions.sweep import LARGEST, MOST_THREADS, UNKNOWN, Config

_TOLD = (
    *("build_commit", "build_number", "cpu_info", "gpu_info", "backends", "model_filename", "model_type"),
    *("model_size", "model_n_params", "n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns"),
    *("avg_ts", "stddev_ts", "samples_ns", "samples_ts"),
)
"""What is no option of a case, or told elsewhere."""
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
    test_time: str | None = None


def is_one(value: object) -> bool:
    """Whether it is a list of tests, or the first line's test."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and {"n_prompt", "n_gen", "avg_ns"} <= set(first)


def found(text: str, path: Path) -> Found:
    """Every test. Raises BenchtuiError with the place of what isn't allowed."""
    whole = parsed(text)
    places = (
        [(f"{path}, test {place}", value) for place, value in enumerate(whole, 1)]
        if isinstance(whole, list)
        else lines(text, str(path))
    )
    tests = [(typed(value, _Test, where), typed(value, dict[str, Any], where)) for where, value in places]
    varied = _varied([raw for _, raw in tests])
    first = tests[0][0]
    models = list(dict.fromkeys(test.model_filename for test, _ in tests))
    return Found(
        kind="llama-bench",
        model=models[0] if len(models) == 1 else f"{len(models)} models",
        task="generate" if any(test.n_gen for test, _ in tests) else "lm-forward",
        measurements=tuple(_measurement(test, raw, varied) for test, raw in tests),
        host=Host(processor=first.cpu_info or None),
        measured=first.test_time,
    )


def _varied(tests: list[dict[str, Any]]) -> tuple[str, ...]:
    """The options in which the tests differ."""
    names = dict.fromkeys(name for test in tests for name in test if name not in _TOLD)
    return tuple(name for name in names if len({repr(test.get(name)) for test in tests}) > 1)


def _measurement(test: _Test, raw: Mapping[str, Any], varied: tuple[str, ...]) -> Measurement:
    tokens = test.n_prompt + test.n_gen
    options = (f"{name}={raw[name]}" for name in varied if name in raw)
    return Measurement(
        config=Config(
            device=_device(test),
            precision=UNKNOWN,
            compile=UNKNOWN,
            padding=UNKNOWN,
            threads=test.n_threads,
            sequence_length=max(tokens + test.n_depth, 1),
            label=" ".join([test.model_type, _name(test), *options])[:300],
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
    """The test as llama-bench's own table names it."""
    parts = [f"pp{test.n_prompt}"] * (test.n_prompt > 0) + [f"tg{test.n_gen}"] * (test.n_gen > 0)
    depth = f" @ d{test.n_depth}" if test.n_depth else ""
    return "+".join(parts) + depth


def _device(test: _Test) -> str:
    """The backend; without one, or with all layers kept off the GPU, the processor."""
    backends = test.backends.lower().replace("blas", "").strip(",")
    if test.n_gpu_layers == 0 or backends in ("", "cpu"):
        return "cpu" if test.backends else UNKNOWN
    return f"cuda:{test.main_gpu}" if backends == "cuda" else backends

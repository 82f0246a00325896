"""One table as people write it: the same figures in any spelling, encoding and shape, or its own refusal."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers import registry
from benchtui.sessions.importers.imported import Imported

CSV = "model,batch_size,latency_ms\nresnet,1,5.5\nresnet,8,22.25\nresnet,16,40.125\n"
FIGURES = [(1, 5.5, "ok"), (8, 22.25, "ok"), (16, 40.125, "ok")]
OBJECTS = [{"batch_size": size, "latency_ms": time_ms} for size, time_ms, _ in FIGURES]
ROWS = [[size, time_ms] for size, time_ms, _ in FIGURES]
TABLE = "| batch_size | latency (ms) |\n|--:|:--|\n| 1 | 5.5 |\n| 8 | 22.25 |\n| 16 | 40.125 |\n"
PANDAS = """\
   batch_size  latency_ms
0           1       5.500
1           8      22.250
2          16      40.125

[3 rows x 2 columns]
"""
POLARS = """\
shape: (3, 2)
│ batch_size ┆ latency_ms │
│ ---        ┆ ---        │
│ i64        ┆ f64        │
╞════════════╪════════════╡
│ 1          ┆ 5.5        │
│ 8          ┆ 22.25      │
│ 16         ┆ 40.125     │
"""
TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nRuntimeError: CUDA, out\n'
MS_BY_UNIT = {
    1e-6: "ns nsec nanos nanosecond nanoseconds",
    1e-3: "us µs μs usec microsecond microseconds",
    1.0: "ms msec msecs millis millisecond milliseconds",
    1e3: "s sec secs second seconds",
    6e4: "mins minute minutes",
    3.6e6: "hr hrs hour hours",
}
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "gb18030")
NAMES = (("réseau", "latin-1"), ("模型", "gb18030"))
FORMS = ("latency ({})", "latency [{}]", "latency_{}", "latency {}", "latency/{}", "latency in {}", "time <{}>")
UNKNOWN = (
    *(
        "NaN",
        "nan",
        "N/A",
        "NA",
        "-",
        "--",
        "—",
        "null",
        "None",
        "inf",
        "-Infinity",
        "∞",
        "#N/A",
        "#DIV/0!",
        "",
        "?",
    ),
    *("TBD", "1.#INF", "<NA>", "n.a.", "nil", "missing", "…", "*", "not available", "pending"),
)
OUTCOMES = {
    "oom": ("OOM", "CUDA OOM", "O.O.M.", "torch.cuda.OutOfMemoryError: Tried", "out-of-memory", "MemoryError",
            "out of mem", "CUBLAS_STATUS_ALLOC_FAILED", "insufficient memory", "cannot allocate memory"),
    "timeout": ("timeout", "timed out", "TimeoutError", "time limit", "TLE", "hang", "hung", "deadlock"),
    "skipped": ("skipped", "SKIP", "unsupported", "not supported", "not run", "NotImplementedError", "N/S"),
    "failed": ("DNF", "FAILED", "ERR", "Error: shape", "crashed", "segfault", "Segmentation fault", "killed",
               "exception", "❌", "aborted", "panic", "core dumped", "invalid", "cancelled", "false"),
}  # fmt: skip
SUCCESSES = (
    "OK",
    "Success",
    "passed",
    "done",
    "completed",
    "true",
    "✓",
    "finished",
    "valid",
    "✅",
    "yes",
    "degraded",
)


def read(folder: Path, data: str | bytes) -> Imported:
    (folder / "f").write_bytes(data if isinstance(data, bytes) else data.encode())
    return registry.read(folder / "f")


def figures(imported: Imported) -> list[tuple[int, float | None, str]]:
    """Batch size, step in ms and outcome of each case."""
    return [
        (row.config.batch_size, row.mean_ms and round(row.mean_ms, 6), row.finished.outcome)
        for row in imported.measurements
    ]


def zipped(**files: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__MACOSX", "__MACOSX/._a"), text)
    return data.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        *(CSV.encode(name) for name in ENCODINGS),
        *(CSV.replace("resnet", name).encode(code) for name, code in NAMES),
        b"\0\0\xfe\xff" + CSV.encode("utf-32-be"),
        CSV.encode() + b"\x1a",
        gzip.compress(CSV.encode(), mtime=0),
        zipped(a=CSV, __MACOSX="x"),
        *(CSV.replace("\n", end) for end in ("\r", "\r\n", "\n\n", ",\n", ",,,,\n")),
        CSV.replace("5.5", "\x1b[32m5.5\x1b[0m"),
        *(CSV.replace(",", separator) for separator in (";", "\t", "|", " ; ", "   ", " | ")),
        CSV.replace(",", ";").replace(".", ","),
        "sep=;\n" + CSV.replace(",", ";"),
        *(start + CSV for start in ("# host\n", "// host\n", "2026-01-01 12:00:00,123 INFO loading, wait\n")),
        CSV + "INFO done in 5 s\n",
        CSV + TRACEBACK,
        CSV + CSV,
        *(f"{CSV}{row}" for row in ("mean,,22.625\n", "Average,8.3,22.625\n", "GEOMEAN,,17\n")),
        "batch_size,latency,throughput\n,ms,img/s\n1,5.5,180\n8,22.25,360\n16,40.125,398\n",
        "batch_size,latency\n-,ms\n1,5.5\n8,22.25\n16,40.125\n",
        "batch_size,latency (ms)\n1,5.5 ± 0.1\n8,22.25+/-0.2\n16,40.125 (1)\n",
        "batch_size,latency\n1,5.5 ms\n8,22250 us\n16,0.040125 s\n",
        PANDAS,
        POLARS,
        " batch_size | latency_ms \n-----------+----------\n 1 | 5.5\n 8 | 22.25\n 16 | 40.125\n(3 rows)\n",
        TABLE,
        "".join(f"> {line}\n" for line in TABLE.splitlines()),
        TABLE.replace("5.5", "[5.5](https://example.org/run)").replace("22.25", "**22.25**"),
        json.dumps({"results": OBJECTS}),
        json.dumps({"meta": {"gpu": "A"}, "data": {"runs": OBJECTS}}),
        json.dumps([["batch_size", "latency_ms"], *ROWS]),
        json.dumps({"columns": ["batch_size", "latency_ms"], "index": [0, 1, 2], "data": ROWS}),
        json.dumps([{"batch_size": size, "latencies_ms": [time_ms, time_ms]} for size, time_ms in ROWS]),
        "".join(f"\x1e{json.dumps(item)}\n" for item in OBJECTS),
        "".join(f"2026-01-01 12:00:00,1 INFO result: {json.dumps(item)}\n" for item in OBJECTS),
    ],
    ids=lambda data: repr(data)[:30],
)  # fmt: skip
def test_same_figures(tmp_path: Path, data: str | bytes) -> None:
    assert figures(read(tmp_path, data)) == FIGURES


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("ms", "unit"), [(ms, unit) for ms, units in MS_BY_UNIT.items() for unit in units.split()]
)
def test_unit_in_the_name_of_the_column(tmp_path: Path, ms: float, unit: str, form: str) -> None:
    rows = "".join(f"{size},{time_ms / ms!r}\n" for size, time_ms in ROWS)
    assert figures(read(tmp_path, f"batch_size,{form.format(unit)}\n{rows}")) == FIGURES


def test_exponent_is_no_unit(tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match="the unit of 'latency' isn't stated"):
        read(tmp_path, "batch_size,latency\n1,5.5e-05\n8,2.2e-04\n")


@pytest.mark.parametrize("word", UNKNOWN)
def test_unknown_figure(tmp_path: Path, word: str) -> None:
    rows = CSV.replace("22.25", word)
    assert figures(read(tmp_path, rows)) == [FIGURES[0], (8, None, "failed"), FIGURES[2]]


@pytest.mark.parametrize(
    ("outcome", "word"), [(outcome, word) for outcome, of in OUTCOMES.items() for word in of]
)
def test_word_in_place_of_a_figure_is_an_outcome(tmp_path: Path, outcome: str, word: str) -> None:
    expected = [FIGURES[0], (8, None, outcome), FIGURES[2]]
    assert figures(read(tmp_path, CSV.replace("22.25", f'"{word}"'))) == expected
    stated = (
        CSV.replace("latency_ms", "latency_ms,status").replace(".5\n", ".5,ok\n").replace(".125", ".125,ok")
    )
    assert figures(read(tmp_path, stated.replace("22.25", f',"{word}"'))) == expected


@pytest.mark.parametrize("word", SUCCESSES)
def test_word_of_success_costs_no_case(tmp_path: Path, word: str) -> None:
    """A word that says neither success nor failure is a mark of a case that has its time."""
    lines = [f"{line},{word}" for line in CSV.splitlines()[1:]]
    imported = read(tmp_path, "\n".join(["model,batch_size,latency_ms,status", *lines]))
    assert figures(imported) == FIGURES
    assert imported.measurements[0].finished.marks == (("status: degraded",) if word == "degraded" else ())


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        ("\ufeff<html><td>1", "HTML or XML"),
        ("\n\n<!DOCTYPE html>", "HTML or XML"),
        (b"BZh91AY", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "binary data"),
        (b"\xff\xfe\x00", "binary data"),
        (b"PK\x03\x04abc", "a ZIP archive, or a spreadsheet's own format"),
        (b"\x80\x04\x95abc", "a Python pickle, which could run any code"),
        (b"\x1f\x8bnot gzip", "can't be decompressed"),
        ("batch_size,latency\n1,5.5\n", "the unit of 'latency' isn't stated"),
        *((f"model,batch_size,{form}\na,1,5\n".format("min"), "minutes or the minimum") for form in FORMS),
        ("model,batch_size,min latency (ms)\na,1,5\na,8,6\n", "no column is recognized as a step time"),
        ("batch_size,latency_ms\n1,inf\n8,-inf\n", "'latency_ms' has no number"),
        ("batch_size,latency_ms\n1,nan\n8,\n", "'latency_ms' has no number"),
        ('[{"batch_size":1,"latency_ms":Infinity},{"batch_size":2}]', "'latency_ms' has no number"),
    ],
)  # fmt: skip
def test_refusal_has_its_own_cause(tmp_path: Path, data: str | bytes, cause: str) -> None:
    with pytest.raises(BenchtuiError, match=cause):
        read(tmp_path, data)


def test_nested_objects_are_cases(tmp_path: Path) -> None:
    times = {"a": {"fp16": 5, "int8": 3}, "b": {"fp16": 9, "int8": 6}}
    nested = {model: {name: {"latency_ms": ms} for name, ms in of.items()} for model, of in times.items()}
    imported = read(tmp_path, json.dumps(nested))
    assert [row.mean_ms for row in imported.measurements] == [5, 3, 9, 6]
    assert len({row.config.name for row in imported.measurements}) == 4


@pytest.mark.parametrize(
    ("text", "means_ms"),
    [
        (
            '{"a": {"bs1": {"latency_ms": 1}, "bs8": {"latency_ms": 3}},'
            ' "b": {"bs1": {"latency_ms": 2}, "bs8": {"latency_ms": 4}}}',
            {
                "a column=bs1.latency_ms": 1,
                "a column=bs8.latency_ms": 3,
                "b column=bs1.latency_ms": 2,
                "b column=bs8.latency_ms": 4,
            },
        ),
        ('{"gpt2": {"bs1": {"latency_ms": 11.0}, "bs8": {"latency_ms": 33.0}}}', {"bs1": 11.0, "bs8": 33.0}),
        (
            '[{"name": "addmm", "configuration": 64, "mean_us": 5.0},'
            ' {"name": "addmm", "configuration": 8, "mean_us": 2}]',
            {"addmm configuration=64": 0.005, "addmm configuration=8": 0.002},
        ),
        (
            "name,min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations\n"
            "test_encode,0.0101,0.0132,0.0115,0.0004,0.0114,0.0005,2;1,86.9,86,1\n",
            {"test_encode": 11.5},
        ),
        (
            "Name (time in us)    Mean    Min    Rounds\n-----\n"
            "test_a    1.5000 (1.0)    0.2000 (1.0)    64\ntest_b    11.5000 (7.67)    0.4000 (2.0)    8\n",
            {"test_a": 0.0015, "test_b": 0.0115},
        ),
        (
            "users,requests/s,duration_ms\n1,10.5,95\n4,38.0,105\n",
            {"case users=1": 95.0, "case users=4": 105.0},
        ),
    ],
)
def test_cases_of_nested_objects_and_printed_tables(
    tmp_path: Path, text: str, means_ms: dict[str, float]
) -> None:
    (tmp_path / "file").write_text(text)
    imported = registry.read(tmp_path / "file")
    assert {row.config.name: row.mean_ms for row in imported.measurements} == pytest.approx(means_ms)


VEGETA = (
    '{"latencies": {"total": 237119463, "mean": 2371194, "50th": 2854306, "90th": 3228223, "95th": 3478629,'
    ' "99th": 3530000, "max": 3660505}, "duration": 989999944, "requests": 100, "rate": 101.01,'
    ' "throughput": 98.9, "success": 0.98, "status_codes": {"200": 98, "500": 2}}'
)
BATCHED = """\
|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   128 |    128 |    1 |    256 |    0.108 |  1186.64 |    3.079 |    41.57 |    3.187 |    80.32 |
|   128 |    128 |    2 |    512 |    0.198 |  1295.19 |    5.029 |    50.90 |    5.227 |    97.95 |
"""


def test_load_of_vegeta_has_its_mean_rather_than_the_sum_of_its_latencies(tmp_path: Path) -> None:
    (row,) = read(tmp_path, VEGETA).measurements
    reported, failures = row.finished.reported, row.finished.failures
    assert reported and reported.request and failures
    assert (reported.request.mean_ms, reported.request.p99_ms) == pytest.approx((2.371194, 3.53))
    assert (reported.samples_per_s, failures.failed, failures.total) == (98.9, 2, 100)


def test_step_of_batched_bench_is_prompts_and_generation(tmp_path: Path) -> None:
    imported = read(tmp_path, BATCHED)
    assert figures(imported) == [(1, 3187.0, "ok"), (2, 5227.0, "ok")]
    assert [row.config.new_tokens for row in imported.measurements] == [128, 128]


@pytest.mark.parametrize("order", ["MicroBatchSize,GlobalBatchSize", "global_batch_size,per_device_batch_size"])
def test_batch_of_a_step_is_the_global_one(tmp_path: Path, order: str) -> None:
    small = order.startswith("Micro")
    lines = [f"{'4,64' if small else '64,4'},512.5", f"{'8,64' if small else '64,8'},480.1"]
    imported = read(tmp_path, "\n".join([f"{order},step_time_ms", *lines]))
    assert figures(imported) == [(64, 512.5, "ok"), (64, 480.1, "ok")]
    assert len(imported.cases) == 2


def test_batch_of_a_device_is_that_of_the_step_where_it_stands_alone(tmp_path: Path) -> None:
    imported = read(tmp_path, "name,MicroBatchSize,step_ms\na,4,512.5\nb,8,480.1\n")
    assert [row.config.batch_size for row in imported.measurements] == [4, 8]


@pytest.mark.parametrize(
    "text",
    [
        "Running 30s test @ http://x\n  2 threads and 4 connections\n  Thread Stats   Avg      Stdev     Max\n"
        "    Latency   635.91us    0.89ms  12.92ms\n    Req/Sec    56.20k     8.07k   62.00k\n",
        "\nSummary:\n  Total:\t1.8044 secs\n  Requests/sec:\t110.8398\n",
        "This is ApacheBench, Version 2.3\n\nTime per request:       12.340 [ms] (mean)\n",
    ],
)
def test_print_of_a_load_generator_is_refused_with_its_own_cause(tmp_path: Path, text: str) -> None:
    with pytest.raises(BenchtuiError, match="print of wrk, ab or hey; write it as CSV"):
        read(tmp_path, text)

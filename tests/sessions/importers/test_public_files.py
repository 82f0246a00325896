"""Excerpts of result files that other people published, against an independent reading of each file.

``fixtures/public/SOURCES.md`` says where each one is from.
"""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from journals import import_results

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers import registry
from benchtui.sessions.importers.registry import detect
from benchtui.sessions.state.session import Session

FOLDER = Path(__file__).parents[2] / "fixtures" / "public"
MOST_COLUMNS = 12
LATENCY, MEDIAN, STD, P95, RATE, TOKENS, NEW_TOKENS = (
    *("latency_mean_ms", "latency_p50_ms", "latency_std_ms", "latency_p95_ms"),
    *("samples_per_s", "tokens_per_s", "new_tokens_per_s"),
)
FIRST, PER_TOKEN, REQUEST, DEVICE, RSS = (
    *("time_to_first_token_p50_ms", "time_per_output_token_p50_ms", "request_p50_ms"),
    *("peak_device_mb", "peak_rss_mb"),
)
Figures = list[float | None]
Reading = Callable[[str], Figures]


def in_csv(column: str, scale: float = 1) -> Reading:
    def read(text: str) -> Figures:
        return [scale * float(row[column]) for row in csv.DictReader(text.splitlines())]

    return read


def in_json(path: str, scale: float = 1, rows: str = "") -> Reading:
    def read(text: str) -> Figures:
        document = json.loads(text)
        items = document[rows] if rows else document
        return [scale * at(item, path) for item in (items if isinstance(items, list) else [items])]

    return read


def at(value: Any, path: str) -> float:
    for key in path.split("."):
        value = value[key]
    return float(value)


def in_bars(place: int, scale: float = 1) -> Reading:
    """Read a column of a Markdown table, or all but the first, row by row, with ``place`` -1."""

    def read(text: str) -> Figures:
        lines = [line.strip().strip("|").split("|") for line in text.splitlines() if line.count("|") > 2]
        cells = [cell for line in lines[2:] for cell in (line[1:] if place < 0 else [line[place]])]
        numbers = [re.match(r"\s*([\d.,]+)", cell) for cell in cells]
        return [scale * float(match[1].replace(",", "")) if match else None for match in numbers]

    return read


def after(name: str, scale: float = 1) -> Reading:
    """Read the number after a name in printed lines."""

    def read(text: str) -> Figures:
        return [scale * float(figure) for figure in re.findall(rf"{re.escape(name)}\s*:?\s+(\S+)", text)]

    return read


def halves(figures: Figures) -> list[Figures]:
    return [figures[: len(figures) // 2], figures[len(figures) // 2 :]]


def minutes(text: str) -> Figures:
    return [
        1000 * (60 * int(whole) + int(seconds)) for whole, seconds in re.findall(r"\| (\d+)m(\d+)s \|", text)
    ]


def pairs(text: str) -> Figures:
    columns = json.loads(text)
    both = zip(columns["time_without_cache"], columns["time_with_cache"], strict=True)
    return [1000 * time_s for row in both for time_s in row]


def of_gateway(path: str) -> Reading:
    return lambda text: [at(item, path) for entry in json.loads(text) for item in entry["results"]]


def of_pyperf(text: str) -> Figures:
    of_runs = [
        [value for run in benchmark["runs"] for value in run.get("values", [])]
        for benchmark in json.loads(text)["benchmarks"]
    ]
    return [1000 * sum(values) / len(values) for values in of_runs]


FILES: dict[str, tuple[str, dict[str, Reading]]] = {
    "all_results.json": ("trainer", {RATE: in_json("train_samples_per_second")}),
    "backends.json": (
        "table",
        {
            LATENCY: in_json("mean_ms", rows="results"),
            MEDIAN: in_json("median_ms", rows="results"),
            STD: in_json("std_ms", rows="results"),
            P95: in_json("p95_ms", rows="results"),
        },
    ),
    "benchmarkdotnet.md": ("table", {LATENCY: in_bars(1, 1e-6), STD: in_bars(3, 1e-6)}),
    "bigcode-latency.md": ("table", {LATENCY: in_bars(-1, 1000)}),
    "data.js": (
        "github-action-benchmark",
        {LATENCY: lambda text: [1e-6 * float(value) for value in re.findall(r'"value": (\d+)', text)]},
    ),
    "densenet.csv": (
        "table",
        {
            LATENCY: in_csv("latency_ms"),
            RATE: in_csv("throughput_samples_sec"),
            RSS: in_csv("ram_usage_mb"),
            DEVICE: in_csv("vram_usage_mb"),
        },
    ),
    "exllama.md": ("table", {NEW_TOKENS: in_bars(4), DEVICE: in_bars(2)}),
    "exp-kernels.csv": ("table", {LATENCY: in_csv("time_ms")}),
    "failing-load.json": (
        "table",
        {LATENCY: in_json("total_time", 1000), RATE: in_json("throughput"), REQUEST: in_json("latency.p50")},
    ),
    "faster-whisper-gpu.md": ("table", {DEVICE: in_bars(4), RSS: in_bars(5)}),
    "faster-whisper.md": ("table", {LATENCY: minutes, RSS: in_bars(4)}),
    "gateway.json": (
        "table",
        {REQUEST: of_gateway("latency_ms.p50"), RATE: of_gateway("throughput_requests_per_second")},
    ),
    "hyperfine.json": (
        "hyperfine",
        {LATENCY: in_json("mean", 1000, "results"), "user_ms": in_json("user", 1000, "results")},
    ),
    "infpop.md": (
        "table",
        {RATE: lambda text: [3 / sum(1 / rate for rate in of if rate) for of in halves(in_bars(5)(text))]},
    ),
    "inference-profiler.md": ("table", {RATE: in_bars(4)}),
    "jmh.json": ("jmh", {RATE: in_json("primaryMetric.score")}),
    "kv-cache.json": ("table", {LATENCY: pairs}),
    "llama-bench.json": ("llama-bench", {LATENCY: in_json("avg_ns", 1e-6)}),
    "llama-bench.md": ("llama-bench", {TOKENS: in_bars(6)}),
    "llama-mistral.csv": ("table", {LATENCY: in_csv("latency_sec", 1000)}),
    "llm-rs2.md": ("table", {TOKENS: in_bars(7)}),
    "llm-status.csv": ("table", {LATENCY: in_csv("Latency (s)", 1000)}),
    "locust-stats.csv": ("locust", {RATE: in_csv("Requests/s"), REQUEST: in_csv("Median Response Time")}),
    "mlperf_log_summary.txt": (
        "mlperf",
        {RATE: after("Samples per second"), REQUEST: after("50.00 percentile latency (ns)", 1e-6)},
    ),
    "mlx-ane.csv": (
        "table",
        {
            LATENCY: lambda text: [394.245, 2900.59, 2994.96, 1424.14, 4167.38, 1000 / 24.3],
            DEVICE: lambda text: [3420, 3580, 4180, 2510, 10_430, None],
        },
    ),
    "ollama-suite.csv": ("table", {LATENCY: in_csv("Total Time (s)", 1000), TOKENS: in_csv("Tokens/sec")}),
    "optimum-mteb.csv": (
        "table",
        {LATENCY: in_csv("Forward Latency (s)", 1000), RATE: in_csv("Forward Throughput (samples/s)")},
    ),
    "optimum-report.json": (
        "optimum-benchmark",
        {
            LATENCY: lambda text: [
                in_json("prefill.latency.mean", 1000)(text)[0] + in_json("decode.latency.mean", 1000)(text)[0]  # type: ignore[operator]
            ],
            FIRST: in_json("prefill.latency.p50", 1000),
            DEVICE: in_json("decode.memory.max_process_vram"),
        },
    ),
    "packrat.csv": ("table", {LATENCY: in_csv("latency(avg)")}),
    "perf-analyzer.csv": (
        "perf-analyzer",
        {RATE: in_csv("Inferences/Second"), REQUEST: in_csv("p50 latency", 1e-3)},
    ),
    "precisions.csv": (
        "table",
        {LATENCY: in_csv("Mean Latency (ms)"), MEDIAN: in_csv("Median (ms)"), STD: in_csv("Std Dev (ms)")},
    ),
    "pyperf.json": ("pyperf", {LATENCY: of_pyperf}),
    "serving-commented.txt": (
        "serving-printed",
        {LATENCY: lambda text: [500 * sum(filter(None, after("Benchmark duration (s)")(text)))]},
    ),
    "sglang-printed.md": (
        "serving-printed",
        {
            LATENCY: after("Benchmark duration (s)", 1000),
            FIRST: after("Median TTFT (ms)"),
            REQUEST: after("Median E2E Latency (ms)"),
            NEW_TOKENS: after("Output token throughput (tok/s)"),
        },
    ),
    "tensorrt-classifier.csv": ("table", {LATENCY: in_csv("Avg Time (ms)"), STD: in_csv("Std Time (ms)")}),
    "tensorrt-llm.txt": (
        "tensorrt-llm",
        {
            LATENCY: after("latency(ms)"),
            NEW_TOKENS: after("tokens_per_sec"),
            DEVICE: after("gpu_peak_mem(gb)", 1000),
        },
    ),
    "torchserve.csv": ("table", {LATENCY: in_csv("mean_predict_latency"), RATE: in_csv("throughput")}),
    "timm-infer.csv": ("timm", {LATENCY: in_csv("infer_step_time"), RATE: in_csv("infer_samples_per_sec")}),
}
"""By file: tool, and how to read the figures of all cases independently."""
MAPS = {
    "bigcode-latency.md": "batch_size=batch_size,HF (fp32)=step_s,HF (bf16)=step_s,HF (int8)=step_s,"
    "DS-inference (fp16)=step_s",
    "exllama.md": "column 1=name,VRAM=peak_device,Ind.=new_tokens_per_s",
    "failing-load.json": "total_requests=requests,successful_requests=completed,failed_requests=failed,"
    "total_time=step_s,throughput=samples_per_s,latency.mean=request_mean_ms,latency.p50=request_median_ms",
    "packrat.csv": "intraop_threads=threads,batch_size=batch_size,latency(avg)=step_mean_ms",
    "torchserve.csv": "cores=threads,batch_size=batch_size,allocator=option,throughput=samples_per_s,"
    "mean_predict_latency=step_mean_ms",
    "kv-cache.json": "seq_len=sequence_length,time_without_cache=step_s,time_with_cache=step_s",
}
"""Maps by hand, of files that state no unit or no quantity."""
READ_OFF = {
    "all_results.json": 15.743,
    "backends.json": 75.169,
    "benchmarkdotnet.md": 0.00008281,
    "bigcode-latency.md": 1940,
    "data.js": 6942.179887,
    "densenet.csv": 151.8803596496582,
    "exllama.md": 96,
    "exp-kernels.csv": 0.144,
    "failing-load.json": 683_771.5830802917,
    "faster-whisper-gpu.md": 11_325,
    "faster-whisper.md": 631_000,
    "gateway.json": 30.954600020777434,
    "hyperfine.json": 11_614.81411152,
    "infpop.md": 0.3627684045708235,
    "inference-profiler.md": 467.3,
    "jmh.json": 11_015.224320213,
    "kv-cache.json": 31.16893768310547,
    "llama-bench.json": 72.13564,
    "llama-bench.md": 7340.2,
    "llama-mistral.csv": 123_550,
    "llm-rs2.md": 18.7,
    "llm-status.csv": 30_910,
    "locust-stats.csv": 0.9654206640071638,
    "mlperf_log_summary.txt": 0.165037,
    "mlx-ane.csv": 394.245,
    "ollama-suite.csv": 600,
    "optimum-mteb.csv": 0.995,
    "optimum-report.json": 1649.3990993499757,
    "packrat.csv": 134.05427038727794,
    "perf-analyzer.csv": 69.2,
    "precisions.csv": 296.62,
    "pyperf.json": 2.12383200774047e-3,
    "serving-commented.txt": 174_775,
    "sglang-printed.md": 264_250,
    "tensorrt-classifier.csv": 63.49,
    "tensorrt-llm.txt": 41.362,
    "torchserve.csv": 296.86,
    "timm-infer.csv": 20.226,
}
"""First figure of the first case, read by a person."""


def imported_by_map(file: str, folder: Path) -> Session:
    return import_results(FOLDER / file, folder / "session.json", map_text=MAPS.get(file))


@pytest.mark.parametrize("file", FILES)
def test_figures_are_those_of_an_independent_reading(tmp_path: Path, file: str) -> None:
    tool, readings = FILES[file]
    text = (FOLDER / file).read_text("utf-8")
    cases = [row for row, _ in rows(imported_by_map(file, tmp_path))]
    for name, read in readings.items():
        figures = [getattr(row, name) for row in cases]
        assert figures == [
            None if figure is None else pytest.approx(figure, rel=1e-9) for figure in read(text)
        ], name
    assert getattr(cases[0], next(iter(readings))) == pytest.approx(READ_OFF[file], rel=1e-9)
    assert file in MAPS or detect(FOLDER / file) == tool


def test_each_public_file_has_a_source_and_a_short_map() -> None:
    sources = (FOLDER / "SOURCES.md").read_text("utf-8")
    assert {path.name for path in FOLDER.iterdir()} == {*FILES, "SOURCES.md"}
    assert all(f"| {file} |" in sources for file in FILES)
    assert all(text.count("=") <= MOST_COLUMNS for text in MAPS.values())


def test_outcomes_of_public_files(tmp_path: Path) -> None:
    big = imported_by_map("bigcode-latency.md", tmp_path)
    assert [case.state for case in big.cases].count("oom") == 7


def test_rows_that_all_lack_a_cell_are_refused_as_nobody_knows_which(tmp_path: Path) -> None:
    """A header with a column more than its rows would shift figures to the wrong names."""
    path = tmp_path / "shifted.csv"
    path.write_text("batch_size,added_later,latency_ms,p99_ms\n1,5.5,9.9\n2,7.5,9.8\n", "utf-8")
    with pytest.raises(BenchtuiError, match="with as many cells"):
        registry.read(path)


@pytest.mark.parametrize(
    ("mode", "unit", "figure", "expected"),
    [
        ("thrpt", "ops/ms", RATE, 4500),
        ("thrpt", "ops/s", RATE, 4.5),
        ("avgt", "us/op", LATENCY, 0.0045),
        ("sample", "s/op", LATENCY, 4500),
    ],
)
def test_jmh_states_rates_or_times_in_any_unit(
    imported: Any, mode: str, unit: str, figure: str, expected: float
) -> None:
    entry = {"benchmark": "b", "mode": mode, "primaryMetric": {"score": 4.5, "scoreUnit": unit}}
    assert [getattr(row, figure) for row, _ in rows(imported([entry]))] == [pytest.approx(expected)]


def test_concurrency_tells_cases_of_a_load_apart(imported: Any) -> None:
    text = (
        "concurrency,failed_requests,total_requests,latency_ms,throughput_rps\n1,0,8,5.0,200\n4,2,8,9.0,440\n"
    )
    cases = [row for row, _ in rows(imported(text))]
    assert [(row.samples_per_s, bool(row.marks)) for row in cases] == [(200, False), (440, True)]
    assert cases[1].latency_mean_ms == pytest.approx(1000 / 440)  # of the rate: 9 ms are those of a request


def test_tables_with_the_same_quantities_of_different_work_are_no_case(tmp_path: Path) -> None:
    """As in optimum-benchmark's Markdown report, whose first table is the loading of the model."""
    path = tmp_path / "report.md"
    head = "| metric | value | unit |\n| :--- | ---: | ---: |\n"
    path.write_text(
        f"# load_model\n\n{head}| mean | 20.0 | s |\n\n# prefill\n\n{head}| mean | 0.027 | s |\n", "utf-8"
    )
    for map_text in (None, "mean.value=step_s"):
        with pytest.raises(BenchtuiError):
            registry.read(path, map_text=map_text)


def test_statistics_in_an_object_have_the_unit_of_its_name(imported: Any) -> None:
    records = [
        {"batch": size, "queue_wait_ms": {"mean": 900.0}, "latency_ms": {"mean": 5.0 * size, "p95": 6.0 * size}}
        for size in (1, 2)
    ]
    assert [row.latency_mean_ms for row, _ in rows(imported(records))] == [5.0, 10.0]


def test_options_of_public_files_tell_their_cases_apart(tmp_path: Path) -> None:
    names = [case.name for case in imported_by_map("packrat.csv", tmp_path).cases]
    assert names == ["threads=1 bs=1", "threads=2 bs=1", "threads=16 bs=1", "threads=1 bs=8", "threads=16 bs=8"]


def test_commits_of_one_benchmark_are_compared(tmp_path: Path) -> None:
    cases = imported_by_map("data.js", tmp_path).cases
    assert [case.config.group for case in cases] == [case.config.label for case in cases]
    assert len({case.name for case in cases}) == 4 and len({case.config.group for case in cases}) == 2

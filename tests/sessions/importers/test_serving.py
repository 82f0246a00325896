"""Runs of load generators, which wrote the files themselves: against a server that only waits between tokens.

guidellm 0.8.1, aiperf 0.13.0 and vLLM 0.33.0 are under the Apache License 2.0. Single requests and metrics that
aren't imported were left out of the files, and paths were replaced.
"""

import json
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers.registry import detect
from benchtui.sessions.report.sections.task_metrics import task_sections
from benchtui.sessions.stats.results import measured
from benchtui.sessions.text.tables import Table

FIXTURES = Path(__file__).parents[2] / "fixtures"
VLLM: dict[str, Any] = {
    "date": "20260115-143022",
    "endpoint_type": "vllm",
    "backend": "vllm",
    "label": None,
    "model_id": "some/model",
    "tokenizer_id": "some/model",
    "num_prompts": 200,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 8,
    "duration": 20.0,
    "completed": 200,
    "failed": 0,
    "total_input_tokens": 20_000,
    "total_output_tokens": 10_000,
    "request_throughput": 10.0,
    "request_goodput": None,
    "output_throughput": 500.0,
    "total_token_throughput": 1500.0,
    "mean_ttft_ms": 50.0,
    "median_ttft_ms": 48.0,
    "std_ttft_ms": 4.0,
    "p99_ttft_ms": 70.0,
    "mean_tpot_ms": 8.0,
    "median_tpot_ms": 7.5,
    "std_tpot_ms": 1.0,
    "p99_tpot_ms": 12.0,
    "mean_itl_ms": 7.9,
    "median_itl_ms": 7.4,
    "std_itl_ms": 2.0,
    "p99_itl_ms": 20.0,
}
"""In the form that vLLM's ``vllm/benchmarks/serve.py`` writes (0.33.0)."""


def content(name: str) -> Any:
    return json.loads((FIXTURES / name).read_text("utf-8"))


def figures(session: Any) -> list[tuple[float | None, ...]]:
    """Rates, and medians of the times of requests, of each case."""
    return [
        (
            row.samples_per_s,
            row.new_tokens_per_s,
            row.tokens_per_s,
            row.time_to_first_token_p50_ms,
            row.time_per_output_token_p50_ms,
            row.request_p50_ms,
        )
        for row, _ in rows(session)
    ]


def test_figures_are_those_of_guidellm(imported: Any) -> None:
    assert detect(FIXTURES / "guidellm.json") == "guidellm"
    session = imported(FIXTURES / "guidellm.json")
    metrics = [each["metrics"] for each in content("guidellm.json")["benchmarks"]]
    assert [case.name for case in session.cases] == [
        "concurrent streams=1 max_concurrency=1",
        "concurrent streams=4 max_concurrency=4",
    ]
    assert figures(session) == [
        (
            each["requests_per_second"]["successful"]["mean"],
            each["output_tokens_per_second"]["successful"]["mean"],
            each["tokens_per_second"]["successful"]["mean"],
            each["time_to_first_token_ms"]["successful"]["median"],
            each["inter_token_latency_ms"]["successful"]["median"],
            1000 * each["request_latency"]["successful"]["median"],
        )
        for each in metrics
    ]
    first, latency = measured(session)[0].metrics.request_ms, metrics[0]["request_latency"]["successful"]
    assert (first.n, first.mean, first.p99) == (24, 1000 * latency["mean"], None)
    assert first.std == pytest.approx(1000 * latency["std_dev"] * sqrt(24 / 23))
    assert session.start.host.packages == {"guidellm": "0.8.1"}
    assert session.start.sweep.model == "mock-model"
    (section,) = task_sections(measured(session), "serve")
    assert section is not None
    *_, shown = section.content
    assert isinstance(shown, Table)
    assert shown.titles[1:3] == ("First token, p50 (ms)", "First token, p90 (ms)")


def test_figures_are_those_of_aiperf(imported: Any) -> None:
    assert detect(FIXTURES / "aiperf.json") == "aiperf"
    session, file = imported(FIXTURES / "aiperf.json"), content("aiperf.json")
    (row,) = measured(session)
    assert (row.name, row.metrics.latency_ms.mean) == (
        "load concurrency=2",
        1000 * file["benchmark_duration"]["avg"],
    )
    rates = ("request_throughput", "output_token_throughput", "total_token_throughput")
    times = ("time_to_first_token", "inter_token_latency", "request_latency")
    assert figures(session) == [
        (*(file[name]["avg"] for name in rates), *(file[name]["p50"] for name in times))
    ]
    assert row.metrics.request_ms.p90 == file["request_latency"]["p90"]
    assert row.metrics.request_ms.std == pytest.approx(file["request_latency"]["std"] * sqrt(24 / 23))
    assert (session.start.measured, session.start.sweep.model) == (file["start_time"], "mock-model")


def test_figures_are_those_of_a_file_that_vllm_wrote(imported: Any) -> None:
    path = FIXTURES / "vllm-bench.jsonl"
    assert detect(path) == "vllm-bench"
    session = imported(path)
    runs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [case.name for case in session.cases] == [
        "openai rate=inf concurrency=1 prompts=24",
        "openai rate=inf concurrency=4 prompts=24",
    ]
    rates = ("request_throughput", "output_throughput", "total_token_throughput")
    times = ("median_ttft_ms", "median_tpot_ms", "median_e2el_ms")
    assert figures(session) == [tuple(each[name] for name in (*rates, *times)) for each in runs]
    assert [row.metrics.request_ms.p90 for row in measured(session)] == [each["p90_e2el_ms"] for each in runs]


def test_statistics_without_whole_requests_are_those_of_vllm(imported: Any) -> None:
    session = imported(VLLM)
    (row,) = measured(session)
    assert row.name == "vllm rate=inf concurrency=8 prompts=200"
    assert figures(session) == [(10.0, 500.0, 1500.0, 48.0, 7.5, None)]
    first = row.metrics.time_to_first_token_ms
    assert (first.n, first.mean, first.p99) == (200, 50.0, 70.0)
    assert first.std == pytest.approx(4 * sqrt(200 / 199))
    ((exported, _),) = rows(session)
    assert exported.time_to_first_token_p99_ms == 70.0
    assert session.messages[-1].text == (
        "ignored fields: tokenizer_id, burstiness, mean_itl_ms, median_itl_ms, std_itl_ms, p99_itl_ms"
    )


def test_appended_runs_of_the_same_load_are_rounds(imported: Any) -> None:
    runs = [VLLM, VLLM | {"duration": 21.0, "request_throughput": 200 / 21}, VLLM | {"request_rate": 4.0}]
    session = imported("\n".join(map(json.dumps, runs)))
    first, second = measured(session)
    assert [first.name, second.name] == [
        "vllm rate=inf concurrency=8 prompts=200",
        "vllm rate=4 concurrency=8 prompts=200",
    ]
    assert first.metrics.rounds_ms == (20_000.0, 21_000.0)
    assert first.metrics.samples_per_s == pytest.approx(400 / 41)
    assert first.metrics.time_to_first_token_ms is None


def test_failed_requests_are_marked_and_a_run_without_any_failed(imported: Any) -> None:
    some = VLLM | {"completed": 150, "failed": 50, "request_throughput": 7.5}
    none = VLLM | {
        "completed": 0,
        "failed": 200,
        "request_throughput": 0.0,
        "request_rate": 9.0,
        "mean_ttft_ms": 0.0,
    }
    first, second = imported("\n".join(map(json.dumps, (some, none)))).cases
    assert first.marks == ("50 of 200 requests failed",)
    assert (second.state, second.finished.reason) == ("failed", "no request of 200 succeeded")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"model_id": "m", "duration": 1, "completed": 1},
            "looks like vllm-bench, but lacks request_throughput",
        ),
        (
            {
                "request_latency": {"unit": "s", "avg": 1},
                "request_count": {"unit": "requests", "avg": 1},
                "benchmark_duration": {"unit": "sec", "avg": 1},
            },
            "its request_latency.unit is s, not ms",
        ),
        ({"request_latency": {}, "request_count": {}}, "looks like aiperf, but lacks benchmark_duration"),
    ],
)
def test_malformed_file_is_reported_with_its_place(imported: Any, value: object, expected: str) -> None:
    with pytest.raises(BenchtuiError) as caught:
        imported(value)
    assert expected in str(caught.value)

"""Files that the tools themselves wrote, imported and exported.

hyperfine 1.15.0, pyperf 2.10.0, pytest-benchmark 5.3.1, torch 2.13.0 and optimum-benchmark 0.6.0 (a random
GPT-2 with one layer) wrote theirs; host names and paths were replaced. That of llama-bench (build 5163) is the
example in ``tools/llama-bench/README.md`` of llama.cpp (MIT license).
"""

import json
import re
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import pytest

from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers.registry import detect
from benchtui.sessions.report.document import markdown

FIXTURES = Path(__file__).parents[2] / "fixtures"
INVENTED = re.compile(
    r"Batch size|samples/day|Text\*|GPUs?\*\*: none|fp32|unknown|\b128 tokens|Not verified|sequence length",
    re.I,
)
"""Words on what none of these files says."""


def content(name: str) -> Any:
    return json.loads((FIXTURES / name).read_text("utf-8"))


def hyperfine() -> dict[str, list[float]]:
    return {
        f"{each['command']} n={each['parameters']['n']}": [1000 * time_s for time_s in each["times"]]
        for each in content("hyperfine.json")["results"]
    }


def llama_bench() -> dict[str, list[float]]:
    names = ("cuda:0 qwen2 7B Q4_K - Medium pp512", "cuda:0 qwen2 7B Q4_K - Medium tg128")
    tests = content("llama-bench.json")
    return {
        name: [time_ns / 1e6 for time_ns in test["samples_ns"]] for name, test in zip(names, tests, strict=True)
    }


def pyperf() -> dict[str, list[float]]:
    return {
        each["metadata"]["name"]: [1000 * value for run in each["runs"] for value in run.get("values", [])]
        for each in content("pyperf.json")["benchmarks"]
    }


def pytest_benchmark() -> dict[str, list[float]]:
    return {
        each["name"]: [1000 * time_s for time_s in each["stats"]["data"]]
        for each in content("pytest-benchmark.json")["benchmarks"]
    }


def torch_benchmark() -> dict[str, list[float]]:
    return {
        " ".join(each["task_spec"][name] for name in ("label", "sub_label", "description")): [
            1000 * time_s / each["number_per_run"] for time_s in each["raw_times"]
        ]
        for each in content("torch-benchmark.json")
    }


def optimum_benchmark() -> dict[str, list[float]]:
    report = content("optimum-benchmark-generate.json")
    times = zip(report["prefill"]["latency"]["values"], report["decode"]["latency"]["values"], strict=True)
    return {"generate bs=2 new=5": [1000 * sum(pair) for pair in times]}


SOURCES = {
    "hyperfine": ("hyperfine.json", hyperfine),
    "llama-bench": ("llama-bench.json", llama_bench),
    "pyperf": ("pyperf.json", pyperf),
    "pytest-benchmark": ("pytest-benchmark.json", pytest_benchmark),
    "torch-benchmark": ("torch-benchmark.json", torch_benchmark),
    "optimum-benchmark": ("optimum-benchmark-generate.json", optimum_benchmark),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_exported_figures_are_those_of_the_raw_times(imported: Any, kind: str) -> None:
    name, raw_times_ms = SOURCES[kind]
    assert detect(FIXTURES / name) == kind
    found = {row.name: row for row, _ in rows(imported(FIXTURES / name))}
    expected = raw_times_ms()
    assert list(found) == list(expected)
    for case, times_ms in expected.items():
        row = found[case]
        assert row.n == len(times_ms)
        assert row.latency_mean_ms == pytest.approx(mean(times_ms), rel=1e-12)
        assert row.latency_p50_ms == pytest.approx(median(times_ms), rel=1e-12)
        assert row.latency_std_ms == pytest.approx(stdev(times_ms), rel=1e-9)
        assert (row.sequence_length, row.precision, row.threads) == (None, None, None)
        assert row.batch_size == next((int(word[3:]) for word in case.split() if word.startswith("bs=")), None)


@pytest.mark.parametrize("kind", SOURCES)
def test_report_says_nothing_that_the_file_does_not(imported: Any, kind: str) -> None:
    session = imported(FIXTURES / SOURCES[kind][0])
    for full in (False, True):
        text = markdown(session, full=full)
        assert INVENTED.findall(text) == []


def test_times_of_the_processor_agree_with_those_of_hyperfine(imported: Any) -> None:
    session = imported(FIXTURES / "hyperfine.json")
    results = content("hyperfine.json")["results"]
    times = [(row.user_ms, row.system_ms) for row, _ in rows(session)]
    assert times == [(1000 * each["user"], 1000 * each["system"]) for each in results]
    assert all(row.samples_per_s is None and row.tokens_per_s is None for row, _ in rows(session))


def test_rates_agree_with_those_of_llama_bench(imported: Any) -> None:
    session = imported(FIXTURES / "llama-bench.json")
    prompt, generation = (row for row, _ in rows(session))
    theirs = [test["avg_ts"] for test in content("llama-bench.json")]
    # its mean is of the rates of the repetitions, ours the tokens over all time: 0.05% apart here
    assert prompt.tokens_per_s == pytest.approx(theirs[0], rel=1e-3)
    assert generation.new_tokens_per_s == pytest.approx(theirs[1], rel=1e-3)
    assert session.start.measured == "2025-04-24T11:58:50Z"
    assert "n_threads=8" in session.messages[2].text
    assert "n_gpu_layers=-1" in session.messages[2].text


def test_percentiles_agree_with_those_of_optimum_benchmark(imported: Any) -> None:
    session = imported(FIXTURES / "optimum-benchmark-generate.json")
    report, (row,) = content("optimum-benchmark-generate.json"), [row for row, _ in rows(session)]
    assert row.time_to_first_token_p50_ms == pytest.approx(1000 * report["prefill"]["latency"]["p50"])
    assert row.time_per_output_token_p50_ms == pytest.approx(1000 * report["decode"]["latency"]["p50"] / 4)
    assert session.start.sweep.task == "generate"
    assert session.cases[0].samples_per_step == 2


def test_pyperf_processes_are_rounds_and_calibration_is_left_out(imported: Any) -> None:
    session = imported(FIXTURES / "pyperf.json")
    assert [len(case.rounds) + 1 for case in session.cases] == [3, 3]
    assert [len(case.warmup) for case in session.cases] == [3, 3]
    assert session.cases[0].finished.memory.peak_rss_mb == pytest.approx(19.746816, rel=0.1)
    assert session.start.host.packages == {"pyperf": "2.10.0"}
    loops = "a step is the mean of 8,192 to 16,384 runs of the benchmarked code; percentiles are of these means"
    assert session.messages[1].text == loops
    assert "**Nothing to decide**: no two measured cases do the same work." in markdown(session)


def test_only_tests_of_a_group_are_compared(imported: Any) -> None:
    found = [row for row, _ in rows(imported(FIXTURES / "pytest-benchmark.json"))]
    assert [(row.name, row.baseline) for row in found] == [
        ("test_sorting[100]", 0),
        ("test_sorting[1000]", 1),
        ("test_dumps", 2),
        ("test_repr", 2),
    ]


def test_only_torch_measurements_of_a_label_are_compared(imported: Any) -> None:
    found = [row for row, _ in rows(imported(FIXTURES / "torch-benchmark.json"))]
    assert [row.baseline for row in found] == [0, 0, 2, 2]

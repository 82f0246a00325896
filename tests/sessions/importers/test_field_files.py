"""Files as the field writes them: what is unusual about each, and what must come in all the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from journals import import_results

from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export import case_export
from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import measured

SERVE: dict[str, Any] = {
    "model_id": "org/small",
    "backend": "vllm",
    "num_prompts": 20,
    "request_rate": "inf",
    "duration": 4.0,
    "completed": 20,
    "failed": 0,
    "request_throughput": 5.0,
    "output_throughput": 160.0,
    "mean_ttft_ms": 60.0,
    "median_ttft_ms": 51.5,
    "std_ttft_ms": 9.0,
}
TRAINING = """\
name,model_name,precision,compile,batch_size,steps,avg_step_time,tokens_per_sec,max_vram,padding,max_length
run_fp32_F_none_1,tiny,fp32,False,1,50,0.0500,2560.0,900.5,max_length,128
run_fp32_F_none_2,tiny,fp32,False,2,50,0.0800,3200.0,1200.25,max_length,128
run_fp32_F_none_4,tiny,fp32,False,4,50,0.1250,4096.0,1800.75,max_length,128
"""


def texts(session: Session) -> str:
    return "\n".join(message.text for message in session.messages)


def lines(*values: object) -> str:
    return "\n".join(json.dumps(value) for value in values)


def compared(*sessions: Session) -> Any:
    return compare_sessions([ComparedSession.of(name, one) for name, one in zip("ab", sessions, strict=True)])


def test_serving_table_begins_with_the_median_time_to_the_first_token(imported: Any) -> None:
    session = imported(SERVE)
    serving = markdown(session).partition("## Serving")[2]
    assert "51.5" in serving.splitlines()[6].split("|")[2]
    ((row, _),) = rows(session)
    assert row.time_to_first_token_p50_ms == 51.5


def test_settings_that_a_sweep_added_are_options_and_named_by_compare(tmp_path: Path) -> None:
    sessions = []
    for block in (16, 32):
        source, path = tmp_path / f"{block}.src", tmp_path / f"{block}.json"
        source.write_text(json.dumps(SERVE | {"block_size": block, "run_number": 0}))
        sessions.append(import_results(source, path))
    assert sessions[0].cases[0].name.endswith("block_size=16")
    difference = [(item.what, item.values) for item in compared(*sessions).differences]
    assert ("block_size", ("16", "32")) in difference


def test_rounds_of_a_sweep_summary_are_rounds_of_one_case(imported: Any) -> None:
    session = imported([SERVE | {"run_number": 0}, SERVE | {"run_number": 1, "duration": 16.0}])
    (row,) = measured(session)
    assert row.metrics.rounds_ms == (4000.0, 16000.0)


def test_case_with_failed_requests_is_shown_and_never_recommended(imported: Any) -> None:
    failing = SERVE | {"label": "fast", "completed": 5, "failed": 15, "output_throughput": 900.0}
    session = imported(lines(SERVE, failing))
    assert "15 of 20 requests failed" in session.cases[1].marks
    decision = decide(session, Objective("throughput"))
    assert decision.best is not None and decision.best.name == session.cases[0].name
    assert "15 of 20 requests failed" in decision.rejected[0].reason
    assert "the only case that can be compared" in markdown(session)


def test_nan_is_unknown_and_named(imported: Any) -> None:
    text = json.dumps(SERVE | {"std_ttft_ms": float("nan"), "p99_ttft_ms": float("inf")})
    session = imported(text)
    assert "NaN or Infinity, imported as unknown: std_ttft_ms, p99_ttft_ms" in texts(session)
    assert measured(session)[0].metrics.time_to_first_token_ms.std is None


def test_older_guidellm_has_its_totals_elsewhere(imported: Any) -> None:
    def times(value: float) -> dict[str, Any]:
        return {"successful": {"mean": value, "median": value + 1, "count": 9, "std_dev": 0.1}}

    benchmark = {
        "args": {"strategy": {"type_": "constant", "rate": 2.5}},
        "run_stats": {"start_time": 1749157168.5, "end_time": 1749157198.5},
        "duration": 30.0,
        "request_totals": {"successful": 9, "errored": 1, "total": 10},
        "metrics": {"request_latency": times(0.5), "requests_per_second": times(2.0)},
    }
    session = imported({"benchmarks": [benchmark]})
    ((row, _),) = rows(session)
    assert (row.name, row.samples_per_s, row.request_p50_ms) == ("constant rate=2.5", 2.0, 1500.0)
    assert "1 of 10 requests failed" in row.marks
    assert session.start.measured == "2025-06-05T20:59:28+00:00"


def command(name: str, *times_s: float, codes: tuple[int, ...] = ()) -> dict[str, Any]:
    return {
        "command": name,
        "mean": sum(times_s) / len(times_s),
        "times": list(times_s),
        "exit_codes": list(codes or (0,) * len(times_s)),
    }


def test_time_of_zero_is_below_resolution_and_has_no_ratio(imported: Any) -> None:
    session = imported({"results": [command("work", 0.5, 0.6), command("echo", 0.0, 0.0)]})
    assert session.cases[1].marks == ("step times of 0 are below the resolution of the timer",)
    text = markdown(session)
    assert "the only case that can be compared" in text
    assert [row.speedup for row, _ in rows(session)][1] is None


def test_failed_runs_are_in_no_figure(imported: Any) -> None:
    session = imported({"results": [command("a", 1.0, 1.1), command("b", 0.1, 3.0, 0.2, codes=(2, 0, 2))]})
    first, second = measured(session)
    assert (second.metrics.latency_ms.n, second.metrics.latency_ms.mean) == (1, 3000.0)
    assert second.case.marks == ("2 of 3 runs failed",)
    decision = decide(session, Objective("latency"))
    assert decision.best is not None and decision.best.name == first.name


def test_log_lines_before_json_are_skipped(imported: Any) -> None:
    session = imported(
        "[INFO] starting\nloading model: 3 shards\n" + json.dumps({"results": [command("a", 1.0)]})
    )
    assert [case.name for case in session.cases] == ["a"]
    assert "skipped 2 lines that aren't JSON: 1, 2" in texts(session)


def test_google_benchmark_has_its_own_units_and_repetitions(imported: Any) -> None:
    def one(name: str, real: float, unit: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "run_type": "iteration", "iterations": 9, "real_time": real, "cpu_time": real,
                "time_unit": unit, **more}  # fmt: skip

    benchmarks = [
        one("BM_a", 250.0, "us", repetition_index=0),
        one("BM_a", 260.0, "us", repetition_index=1),
        one("BM_a_mean", 255.0, "us", run_type="aggregate", aggregate_name="mean"),
        one("BM_b", 2.0, "s"),
    ]
    session = imported({"context": {"num_cpus": 8}, "benchmarks": benchmarks})
    a, b = measured(session)
    assert (a.metrics.rounds_ms, b.metrics.latency_ms.mean) == (pytest.approx((0.25, 0.26)), 2000.0)
    assert session.start.host.cpu_count == 8


def test_commit_is_a_difference(tmp_path: Path) -> None:
    sessions = []
    for commit in ("abc1", "abc2"):
        test = {"name": "t", "fullname": "x::t", "stats": {"mean": 0.5, "rounds": 3, "iterations": 1}}
        source, path = tmp_path / commit, tmp_path / f"{commit}.json"
        source.write_text(
            json.dumps({"benchmarks": [test], "commit_info": {"id": commit, "dirty": commit == "abc1"}})
        )
        sessions.append(import_results(source, path))
    differences = {item.what: item.values for item in compared(*sessions).differences}
    assert differences["commit"] == ("abc1, with uncommitted changes", "abc2")


def test_rows_written_twice_are_copies(imported: Any) -> None:
    once, twice = TRAINING, TRAINING + "".join(TRAINING.splitlines(keepends=True)[2:])
    session = imported(twice)
    assert "2 rows equal earlier ones to the last digit: dropped as copies" in texts(session)
    assert not any(row.metrics.rounds_ms for row in measured(session))
    assert len(twice) > len(once)


def test_rows_of_two_times_or_seeds_are_no_copies(imported: Any) -> None:
    session = imported(
        "date,seed,batch_size,latency_ms\n2026-01-01,1,8,5\n2026-01-02,1,8,5\n2026-01-02,2,8,5\n"
    )
    assert [len(row.metrics.rounds_ms) for row in measured(session)] == [3]


def test_row_out_of_memory_is_a_case_and_the_others_come_in(imported: Any) -> None:
    session = imported(TRAINING.replace("0.1250,4096.0,1800.75", "CUDA out of memory,,"))
    assert [case.state for case in session.cases] == ["ok", "ok", "oom"]
    assert session.cases[2].finished.reason == "avg_step_time is CUDA out of memory"


def test_map_by_hand_and_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "own.csv"
    source.write_text('model,b,t,tps\nresnet,8,"1,234.5",6.5\nresnet,16,2000,8\n')
    first = registry.read(source, map_text="t=step_us,b=batch_size,model=model").measurements[0]
    assert (first.mean_ms, first.config.batch_size) == (pytest.approx(1.2345), 8)
    monkeypatch.setattr(registry, "maps_path", lambda: tmp_path / "import.toml")
    (tmp_path / "import.toml").write_text('[import.mine.columns]\nt = "step_us"\nb = "batch_size"\n')
    assert registry.read(source, map_text="mine").measurements[0].mean_ms == pytest.approx(1.2345)
    for text, cause in (
        ("t=weight", "isn't a quantity"),
        ("q=step_ms", "has no column 'q'"),
        ("t=step", "the unit of 't' isn't stated"),
        ("none", "neither COLUMN"),
    ):
        with pytest.raises(BenchtuiError, match=cause):
            registry.read(source, map_text=text)


@pytest.mark.parametrize(
    ("quantity", "key", "figure"),
    [
        ("latency_p50_us", "latency_p50_ms", 1.5),
        ("latency_typical_ms", "latency_p50_ms", 1500),
        ("latency_mean_s", "latency_mean_ms", 1_500_000),
        ("step_time_sec", "latency_mean_ms", 1_500_000),
        ("throughput", "samples_per_s", 1500),
        ("tok/s", "tokens_per_s", 1500),
    ],
)
def test_map_knows_names_of_exports_and_usual_ones(
    tmp_path: Path, quantity: str, key: str, figure: float
) -> None:
    source, path = tmp_path / "own.csv", tmp_path / "s.json"
    source.write_text("b,x,low\n1,1500,1\n2,3000,2\n")
    imported = registry.read(source, map_text=f"x={quantity},b=batch,low=latency_min_ms")
    session_writer.write(imported, path)
    assert [getattr(row, key) for row, _ in rows(Session.load(path))] == [figure, 2 * figure]


def test_mean_that_a_file_does_not_state_is_unknown(imported: Any, tmp_path: Path) -> None:
    session = imported("batch_size,p50 latency (ms)\n1,5\n2,8\n")
    assert "means are unknown" in texts(session)
    (tmp_path / "export").write_text(case_export.as_csv(session))
    for one in (session, import_results(tmp_path / "export", tmp_path / "again.json")):
        shown = [(row.latency_mean_ms, row.latency_p50_ms, row.samples_per_s) for row, _ in rows(one)]
        assert shown == [(None, 5, 200), (None, 8, 250)]


def test_map_is_proposed_from_names_and_units(imported: Any) -> None:
    session = imported(
        "| Model | Batch | Latency (ms) | Peak VRAM (GiB) |\n|---|---|---|---|\n| a | 1 | 5.5 ± 0.1 | 2 |\n| b | 1 | 7 | 3 |\n"  # noqa: E501
    )
    first, second = measured(session)
    assert [first.name, second.name] == ["a bs=1", "b bs=1"]
    assert first.metrics.latency_ms.mean == 5.5
    assert first.case.finished.memory.peak_device_mb == pytest.approx(2 * 2**30 / 1e6)
    assert "read by --map Model=model,Batch=batch_size,Latency (ms)=step_ms" in texts(session)


def test_rows_too_far_apart_are_no_rounds(imported: Any) -> None:
    session = imported("batch_size,latency_ms\n1,5\n1,5.2\n2,5\n2,50\n")
    assert [row.name for row in measured(session)] == ["bs=1", "bs=2 #1", "bs=2 #2"]
    assert "more than 3 times apart" in texts(session)


def test_table_with_a_column_for_each_case_is_read(imported: Any) -> None:
    session = imported(
        "| Metric | small | large |\n|---|---|---|\n| Batch Size | 1 | 32 |\n"
        "| Latency/Sample (ms) | 8.2 | 1.05 |\n"
        "| Mean Batch Latency (ms) | 8.2 | 33.7 |\n| P95 Batch Latency (ms) | 10.1 | 40 |\n"
    )
    small, large = measured(session)
    assert [small.name, large.name] == ["small bs=1", "large bs=32"]
    assert (small.metrics.latency_ms.mean, large.metrics.latency_ms.mean) == (8.2, 33.7)


def test_table_of_statistics_stays_one_case(imported: Any) -> None:
    (only,) = measured(imported("Metric,Value\nLatency (ms),8.2\nThroughput (samples/s),122\n"))
    assert only.metrics.latency_ms.mean == 8.2


@pytest.mark.parametrize("extra", ["", ', "range": "3 %"'])
def test_export_for_a_github_action_comes_back(imported: Any, extra: str) -> None:
    session = imported(
        f'[{{"name": "a", "unit": "us", "value": 5000{extra}}}, {{"name": "b", "unit": "us", "value": 7}}]'
    )
    assert [(row.name, row.metrics.latency_ms.mean) for row in measured(session)] == [("a", 5), ("b", 0.007)]


def test_other_rates_are_no_options(imported: Any) -> None:
    session = imported("batch_size,Throughput (T/s),Throughput (T/s/GPU)\n1,100,50\n1,102,51\n2,180,90\n")
    assert [row.name for row in measured(session)] == ["bs=1", "bs=2"]


def test_partial_map_keeps_the_options_of_other_columns(tmp_path: Path) -> None:
    source = tmp_path / "runs.csv"
    source.write_text("dtype,batch,ms,note\nfp32,1,10,a\nbf16,1,6,b\nfp32,8,40,c\nbf16,8,22,d\n")
    imported = registry.read(source, map_text="ms=step_ms")
    cases = {(each.config.precision, each.config.batch_size) for each in imported.measurements}
    assert cases == {("fp32", 1), ("bf16", 1), ("fp32", 8), ("bf16", 8)}
    renamed = registry.read(source, map_text="ms=step_ms,dtype=name")
    assert {each.config.precision for each in renamed.measurements} == {"unknown"}

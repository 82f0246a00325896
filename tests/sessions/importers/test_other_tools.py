from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchtui.sessions.advice.optimal import works
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export import dataframe
from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.importers.registry import read, tools
from benchtui.sessions.importers.session_writer import write
from benchtui.sessions.report.document import markdown
from benchtui.sessions.stats.results import measured

COMMANDS = {
    "results": [
        {
            "command": "sleep 0.02",
            "mean": 0.021,
            "times": [0.0205, 0.021, 0.022],
            "memory_usage_byte": [3_600_000, 3_700_000, 3_600_000],
            "exit_codes": [0, 0, 0],
        },
        {"command": "sleep 0.03", "mean": 0.031, "times": [0.03, 0.032], "exit_codes": [0, 1]},
        {"command": "sleep 0.02", "mean": 0.023, "times": [0.023, 0.024]},
    ]
}
TEST = {
    "backends": "CUDA",
    "model_filename": "models/q.gguf",
    "model_type": "qwen2 7B",
    "model_n_params": 7_615_616_512,
    "cpu_info": "Some Processor",
    "gpu_info": "Some GPU",
    "build_commit": "8cf427ff",
    "build_number": 5163,
    "test_time": "2025-04-24T11:59:33Z",
    "model_size": 4_677_120_000,
    "n_threads": 8,
    "n_gpu_layers": -1,
    "n_batch": 2048,
    "n_prompt": 512,
    "n_gen": 0,
    "avg_ns": 72_000_000,
    "avg_ts": 7100.0,
    "samples_ns": [71_000_000, 73_000_000],
}


def test_hyperfine_runs_are_kept_and_repeated_commands_pooled(imported: Any) -> None:
    session = imported(COMMANDS)
    first, second = measured(session)
    assert [first.name, second.name] == ["sleep 0.02", "sleep 0.03"]
    assert list(first.case.measured.wall_ms) == pytest.approx([20.5, 21.0, 22.0, 23.0, 24.0])
    assert first.metrics.rounds_ms == pytest.approx((21.0, 23.5))
    assert first.case.finished.memory.peak_rss_mb == 3.7
    assert second.case.marks == ("1 of 2 runs failed",)
    assert dataframe.frame(session)["batch_size"].isna().all()


def test_hyperfine_command_that_always_failed_is_a_failed_case(imported: Any) -> None:
    commands = [
        {"command": "a", "mean": 0.1, "times": [0.1, 0.1], "exit_codes": [1, 1]},
        {"command": "b", "mean": 0.1, "times": [0.1, 0.1], "exit_codes": [2, None]},
        {"command": "c", "mean": 0.1, "times": [0.1, 0.3], "exit_codes": [0, 0]},
        {"command": "a", "mean": 0.2, "times": [0.2, 0.2], "exit_codes": [1, 1]},
        {"command": "c", "mean": 0.9, "times": [0.9], "exit_codes": [1]},
    ]
    session = imported({"results": commands})
    a, b, c = session.cases
    assert [case.state for case in session.cases] == ["failed", "failed", "ok"]
    assert (a.finished.reason, a.finished.exit_code) == ("every run failed: exit code 1", 1)
    assert (b.finished.reason, b.finished.exit_code) == ("every run failed: exit code 2, a signal", None)
    assert list(c.measured.wall_ms) == [100.0, 300.0]
    assert [row.name for row in measured(session)] == ["c"]


def test_hyperfine_cpu_time_and_parameters_are_imported(imported: Any) -> None:
    command = {"command": "work 4", "mean": 0.5, "user": 0.8, "system": 0.2, "times": [0.5]}
    session = imported({"results": [command | {"parameters": {"threads": "4"}, "stddev": None, "seed": 3}]})
    (case,) = session.cases
    assert case.name == "work 4 threads=4"
    environment = case.finished.environment
    assert (environment.worker_cpu, environment.user_ms, environment.system_ms) == (2.0, 800.0, 200.0)
    assert "| User (ms) | System (ms) |" in " ".join(markdown(session).split())
    assert session.messages[-1].text == "ignored fields: results.seed"


def test_hyperfine_statistics_without_runs_are_kept(imported: Any) -> None:
    session = imported({"results": [{"command": "a", "mean": 0.5, "stddev": 0.1, "median": 0.4}]})
    latency = measured(session)[0].metrics.latency_ms
    assert (latency.mean, latency.median, latency.std) == (500.0, 400.0, 100.0)


def test_llama_bench_gpu_build_date_and_options_are_kept(imported: Any) -> None:
    session = imported(
        [TEST | {"samples_ttft_ns": [1]}, TEST | {"n_gen": 1, "test_time": "2025-04-24T11:58:51Z"}]
    )
    assert [gpu.name for gpu in session.start.host.gpus] == ["Some GPU"]
    assert session.start.host.packages == {"llama.cpp": "5163 8cf427ff"}
    assert session.start.measured == "2025-04-24T11:58:51Z"
    texts = [message.text for message in session.messages[1:]]
    assert texts == [
        "a sample is one repetition of a test: all of its tokens",
        "options shared by all rows: n_threads=8, n_gpu_layers=-1, n_batch=2048",
    ]


def test_gpus_that_differ_between_tests_are_not_recorded(imported: Any) -> None:
    session = imported([TEST, TEST | {"n_prompt": 1, "gpu_info": "Another, Third"}])
    assert session.start.host.gpus == ()
    assert "gpu differs between rows: not recorded" in [m.text for m in session.messages]


def test_llama_bench_jsonl_is_read_like_its_json(imported: Any) -> None:
    text = "\n".join(msgspec.json.encode(each).decode() for each in (TEST, TEST | {"n_prompt": 256}))
    assert [row.config.label for row in measured(imported(text))] == ["qwen2 7B pp512", "qwen2 7B pp256"]


def test_optimum_benchmark_calls_and_machine_facts_are_kept(imported: Any, optimum_file: Path) -> None:
    session = imported(optimum_file)
    (row,) = measured(session)
    assert row.name == "cpu compile=off bs=4 seq=16"
    assert row.metrics.latency_ms.n == 8
    assert row.metrics.samples_per_s == pytest.approx(739.7327, abs=1e-3)
    assert row.metrics.first_step_ms == pytest.approx(53.6963, abs=1e-3)
    assert row.case.finished.memory.peak_rss_mb == pytest.approx(484.68, abs=0.01)
    assert session.start.host.processor == "Some Processor"
    assert session.start.host.packages["transformers"] == "4.57.6"
    assert session.runtime.torch.startswith("2.")
    text = markdown(session)
    assert "Measured on an unrecorded date, imported on " in text
    assert "FP32" not in text


def test_configured_dtype_is_the_precision(imported: Any, optimum_file: Path) -> None:
    whole = msgspec.json.decode(optimum_file.read_bytes())
    whole["config"]["backend"]["torch_dtype"] = "bfloat16"
    assert measured(imported(whole))[0].config.precision == "bf16"


def test_compile_mode_of_a_server_backend_is_unknown(imported: Any, optimum_file: Path) -> None:
    whole = msgspec.json.decode(optimum_file.read_bytes())
    backend = whole["config"]["backend"]
    whole["config"]["backend"] = backend | {"name": "py-txi", "dtype": None}
    whole["config"]["environment"]["gpu"] = ["Tesla T4"]
    session = imported(whole)
    (row,) = measured(session)
    assert (row.config.label, row.config.precision, row.config.compile) == (
        "py-txi case bs=4 seq=16",
        "unknown",
        "unknown",
    )
    assert [gpu.name for gpu in session.start.host.gpus] == ["Tesla T4"]


def test_optimum_report_without_configuration_has_only_metrics(imported: Any, optimum_file: Path) -> None:
    report = msgspec.json.decode(optimum_file.read_bytes())["report"]
    (row,) = measured(imported(report))
    assert (row.name, row.config.device) == ("forward bs=4", "unknown")
    assert (row.config.batch_size, row.case.samples_per_step) == (4, 4)
    assert row.metrics.samples_per_s == pytest.approx(739.7327, abs=1e-3)


def test_optimum_generation_is_prefill_and_decode(imported: Any, optimum_file: Path) -> None:
    whole = msgspec.json.decode(optimum_file.read_bytes())
    times = {"latency": {"unit": "s", "values": [0.1, 0.2]}, "memory": None}
    energy = {"unit": "kWh", "cpu": 1e-6, "gpu": 2e-6, "ram": 0.0, "total": 3e-6}
    whole["report"] = {
        "first_generate": {"latency": {"unit": "s", "values": [3.0]}, "memory": None},
        "prefill": times,
        "decode": {"latency": {"unit": "s", "values": [0.9, 0.8]}, "memory": None},
        "generate": {"latency": None, "memory": None, "energy": energy},
    }
    whole["config"]["backend"] |= {"device": "cuda", "device_ids": "1", "torch_dtype": "float16"}
    whole["config"]["scenario"]["generate_kwargs"] = {"max_new_tokens": 11}
    (row,) = measured(imported(whole))
    assert row.name == "cuda:1 fp16 compile=off new=11 bs=4 seq=16"
    assert list(row.case.measured.wall_ms) == pytest.approx([1000.0, 1000.0])
    assert row.metrics.time_to_first_token_ms.median == pytest.approx(150.0)
    assert row.metrics.time_per_output_token_ms.median == pytest.approx(85.0)
    assert row.metrics.energy_per_sample_j == pytest.approx(2e-6 * 3.6e6 / 4)
    assert row.metrics.first_step_ms == 3000.0
    assert row.case.marks == ("timed by CUDA events",)


def target(
    *times_s: float, rate: float | None = None, unit: str = "samples/s", ram: float = 1.0
) -> dict[str, Any]:
    return {
        "latency": {"unit": "s", "values": list(times_s), "count": len(times_s), "p50": 1.0},
        "memory": {"unit": "MB", "max_ram": ram, "max_global_vram": None},
        "throughput": None if rate is None else {"unit": unit, "value": rate},
        "energy": None,
        "efficiency": None,
    }


GENERATION = {
    "load_model": target(2.0),
    "first_generate": target(3.0),
    "generate": target(1.0, 1.0, rate=62.0),
    "prefill": target(0.1, 0.1, rate=20.0, ram=5.0),
    "decode": target(0.9, 0.9, rate=2 * 31 / 0.9, unit="tokens/s", ram=7.0),
    "per_token": target(*[0.03] * 62),
}
"""As version 0.6 writes it: its generate counts tokens of the decoding as samples."""


def test_batch_and_new_tokens_are_derived_from_rates_of_a_report(imported: Any) -> None:
    session = imported(GENERATION)
    (row,) = measured(session)
    assert (row.name, session.start.sweep.task) == ("generate bs=2 new=32", "generate")
    assert (row.config.batch_size, row.case.samples_per_step) == (2, 2)
    assert row.metrics.samples_per_s == pytest.approx(2.0)
    assert row.metrics.new_tokens_per_s == pytest.approx(64.0)
    assert row.metrics.time_per_output_token_ms.median == pytest.approx(900 / 31)
    assert row.case.finished.memory.peak_rss_mb == 7.0
    assert session.messages[1].text == "loading of the model and times of single tokens aren't imported"


def test_configured_batch_size_is_used_without_a_sequence_length(imported: Any, optimum_file: Path) -> None:
    config = msgspec.json.decode(optimum_file.read_bytes())["config"]
    config["backend"]["task"] = "text-generation"
    config["scenario"]["input_shapes"] = {"batch_size": 2}
    (row,) = measured(imported({"config": config, "report": GENERATION}))
    assert (row.name, row.config.batch_size) == ("cpu pytorch case compile=off bs=2 new=32", 2)
    assert row.case.samples_per_step == 2


BROKEN = [
    ("", "the file is empty"),
    ("{", "not valid JSON: line 1, column 2: unexpected end of file"),
    ('{"report": {\n "forward": {"latency"', "not valid JSON: line 2, column 23: unexpected end of file"),
    ('{\n "ä": 1,\n 2}', "not valid JSON: line 3, column 2: Expecting property name"),
    ("[" * 100_000, "not valid JSON: nested too deeply"),
    ("[1, 2]", "no column is recognized as a step time or a rate"),
    (
        "name,precision,compile,batch_size,max_length,tokens_per_sec\n",
        "a table with a header and rows of numbers",
    ),
    ({"device": "cpu", "metrics": {}}, "looks like batch-sweep, but lacks batch_size"),
    ([{"n_prompt": 1, "n_gen": 0}], "looks like llama-bench, but lacks avg_ns"),
    ({"results": [{"mean": 1.0}]}, "the unit of 'mean' isn't stated"),
    ({"benchmarks": [], "metadata": {}}, "name them with --map COLUMN=QUANTITY"),
    (
        {"benchmarks": [{"name": "a", "stats": {"mean": "slow"}}]},
        "benchmarks[0]: stats.mean 'slow' isn't a number",
    ),
    ([{"number_per_run": 0, "raw_times": [1], "task_spec": {"stmt": "x"}}], "no row has a step time or a rate"),
    ({"forward": {"latency": None}}, "looks like optimum-benchmark, but lacks forward.memory"),
    ({"results": [{"command": "a", "mean": "slow"}]}, "results[0]: mean 'slow' isn't a number"),
    ([TEST | {"avg_ns": 0, "avg_ts": 0, "samples_ns": []}], "all latencies are 0"),
    ([{"event": "session_started"}], "already a benchtui session"),
    ({"device": "cpu", "batch_size": 1, "latency_ms_mean": 0}, "all latencies are 0: its measurements failed"),
    (
        {"forward": {"latency": {"unit": "ms", "values": [1.0]}, "memory": None}},
        "no measurement: its forward.latency.unit is ms, not s",
    ),
    (
        {"forward": {"latency": {"unit": "s", "values": []}, "memory": None}},
        "no latencies of forward, generate, call, train",
    ),
]


@pytest.mark.parametrize(("content", "expected"), BROKEN, ids=[expected for _, expected in BROKEN])
def test_invalid_input_is_reported_with_file_place_and_value(
    imported: Any, content: object, expected: str
) -> None:
    with pytest.raises(BenchtuiError) as caught:
        imported(content)
    text = str(caught.value)
    assert expected in text
    assert "source" in text
    assert "\n" not in text


def test_unknown_format_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match="'hyperfin' is not recognized \\(did you mean 'hyperfine'"):
        read(tmp_path / "none", "hyperfin")
    assert {"hyperfine", "llama-bench", "optimum-benchmark", "training-csv", "vllm-bench"} <= set(tools())


def test_out_of_range_value_is_rejected_before_writing(tmp_path: Path) -> None:
    target = {"latency": {"unit": "s", "values": [0.5]}, "memory": None}
    config = {
        "name": "x",
        "backend": {"name": "pytorch", "model": "m"},
        "scenario": {"name": "inference"},
        "environment": {"cpu_count": -1},
    }
    (tmp_path / "r.json").write_bytes(msgspec.json.encode({"report": {"forward": target}, "config": config}))
    with pytest.raises(
        BenchtuiError, match=r"value out of range for a session: Expected `int` >= 0 - at `\$.host.cpu_count`"
    ):
        write(read(tmp_path / "r.json"), tmp_path / "s.json")
    assert not (tmp_path / "s.json").exists()


def llama_tests(*sizes: tuple[int, int]) -> list[dict[str, Any]]:
    return [TEST | {"n_prompt": prompt, "n_gen": generated} for prompt, generated in sizes]


def test_prompt_processing_and_generation_of_the_same_length_are_not_compared(imported: Any) -> None:
    session = imported([*llama_tests((128, 0), (0, 128)), TEST | {"n_prompt": 128, "n_batch": 512}])
    bases = [row.baseline for row, _ in rows(session)]
    assert bases == [0, 1, 0]
    assert [str(work) for work in works(session)] == ["pp128", "tg128"]
    document = markdown(session)
    assert "pp128" in document.partition("## Results")[0]
    assert "tg128 |" not in document.partition("## Results")[0]


def pyperf_file(*units: str) -> dict[str, Any]:
    return {
        "version": "1.0",
        "metadata": {"hostname": "there"},
        "benchmarks": [
            {
                "metadata": {"name": unit, "unit": unit},
                "runs": [{"warmups": [[1, 2.0]]}, {"values": [0.5, 0.7]}],
            }
            for unit in units
        ],
    }


def test_pyperf_benchmarks_that_are_not_times_are_named_and_left_out(imported: Any) -> None:
    session = imported(pyperf_file("second", "byte"))
    assert [list(case.measured.wall_ms) for case in session.cases] == [[500.0, 700.0]]
    assert session.messages[-1].text == "left out 1 row whose metadata.unit isn't second: byte"
    with pytest.raises(BenchtuiError, match="unit is byte, not second"):
        imported(pyperf_file("byte"))


def pytest_file(*tests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"benchmarks": list(tests), **more}


def test_pytest_benchmark_file_without_data_has_its_own_statistics(imported: Any) -> None:
    stats = {"mean": 0.5, "median": 0.4, "stddev": 0.1, "rounds": 12, "iterations": 1, "min": 0.3}
    test = {"name": "test_a", "fullname": "x.py::test_a", "stats": stats}
    commit = {"id": "abc", "branch": "main", "dirty": True}
    session = imported(pytest_file(test, test | {"fullname": "y.py::test_a"}, commit_info=commit))
    first, second = measured(session)
    assert (first.name, second.name) == ("x.py::test_a", "y.py::test_a")
    found = first.metrics.latency_ms
    assert (found.n, found.mean, found.median, found.std) == (12, 500.0, 400.0, 100.0)
    assert [message.text for message in session.messages[1:]] == []
    assert session.start.host.packages == {"commit": "abc of main, with uncommitted changes"}


TORCH: dict[str, Any] = {
    "number_per_run": 10,
    "raw_times": [0.5],
    "task_spec": {"stmt": "f(\n  x)", "setup": "pass", "num_threads": 2},
    "metadata": None,
}


def test_torch_measurements_with_other_threads_are_compared(imported: Any) -> None:
    session = imported([TORCH, TORCH | {"task_spec": TORCH["task_spec"] | {"num_threads": 4}}])
    assert [case.name for case in session.cases] == ["f( x) threads=2", "f( x) threads=4"]
    assert [row.baseline for row, _ in rows(session)] == [0, 0]

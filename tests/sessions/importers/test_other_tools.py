from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers import KINDS, read, write
from benchtui.sessions.report import markdown
from benchtui.sessions.results import measured

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
    "n_threads": 8,
    "n_gpu_layers": -1,
    "n_batch": 2048,
    "n_prompt": 512,
    "n_gen": 0,
    "avg_ns": 72_000_000,
    "avg_ts": 7100.0,
    "samples_ns": [71_000_000, 73_000_000],
}
LINE = {
    "device": "cuda",
    "batch_size": 8,
    "mixed_precision": True,
    "latency_ms_mean": 15.45,
    "throughput_mean": 517.79,
    "cpu_memory_mb_max": 1601.3,
    "gpu_memory_mb_max": 746.88,
    "gpu_avg_power_w": 216.24,
    "sequence_length": 128,
}


def test_hyperfine_keeps_every_run_and_pools_a_command_that_comes_twice(imported: Any) -> None:
    session = imported(COMMANDS)
    first, second = measured(session)
    assert [first.name, second.name] == ["sleep 0.02", "sleep 0.03"]
    assert list(first.case.measured.wall_ms) == pytest.approx([20.5, 21.0, 22.0, 23.0, 24.0])
    assert first.metrics.rounds_ms == pytest.approx((21.0, 23.5))
    assert first.case.finished.memory.peak_rss_mb == 3.7
    assert second.case.marks == ("1 of 2 runs failed",)
    assert session.to_frame()["batch_size"].isna().all()


def test_llama_bench_names_a_test_in_its_own_words(imported: Any) -> None:
    generated = TEST | {"n_prompt": 0, "n_gen": 128, "n_batch": 512, "samples_ns": [1_000_000_000]}
    session = imported([TEST, generated])
    prompt, decode = measured(session)
    assert prompt.name == "cuda:0 qwen2 7B pp512 n_batch=2048"
    assert decode.name == "cuda:0 qwen2 7B tg128 n_batch=512"
    assert prompt.metrics.tokens_per_s == pytest.approx(512 / 0.072)
    assert decode.metrics.new_tokens_per_s == pytest.approx(128.0)
    assert session.start.host.processor == "Some Processor"
    assert session.start.host.hostname is None


def test_llama_bench_lines_are_read_like_its_array(imported: Any) -> None:
    text = "\n".join(msgspec.json.encode(each).decode() for each in (TEST, TEST | {"n_prompt": 256}))
    assert [row.config.label for row in measured(imported(text))] == ["qwen2 7B pp512", "qwen2 7B pp256"]


def test_a_batch_sweep_line_is_a_case_with_the_figures_of_its_source(imported: Any) -> None:
    text = "\n".join(
        msgspec.json.encode(each).decode()
        for each in (LINE, LINE | {"batch_size": 16, "mixed_precision": False, "throughput_mean": None})
    )
    session = imported(text)
    assert [case.state for case in session.cases] == ["ok", "skipped", "skipped", "ok"]
    amp, plain = measured(session)
    assert (amp.config.precision, amp.config.device) == ("amp-fp16", "cuda")
    assert (amp.metrics.latency_ms.mean, amp.metrics.samples_per_s) == (15.45, 517.79)
    assert amp.metrics.mean_power_w == 216.24
    assert amp.case.finished.memory.peak_allocated_mb == 746.88
    assert plain.config.precision == "fp32"
    assert plain.metrics.samples_per_s == pytest.approx(16 / 0.01545)


def test_an_unsaid_precision_and_length_are_not_guessed(imported: Any) -> None:
    session = imported(msgspec.json.encode({"device": "cpu", "batch_size": 1, "latency_ms_mean": 2.0}).decode())
    (row,) = measured(session)
    assert row.config.precision == "unknown"
    assert row.case.marks == ("its sequence length isn't known",)
    assert row.case.finished.memory is None or row.case.finished.memory.peak_rss_mb is None
    assert session.to_frame()["precision"].isna().all()


def test_optimum_benchmark_keeps_its_calls_and_what_it_said_of_the_machine(
    imported: Any, optimum_file: Path
) -> None:
    session = imported(optimum_file)
    (row,) = measured(session)
    assert row.name == "cpu fp32 compile=off bs=4 seq=16"
    assert row.metrics.latency_ms.n == 8
    assert row.metrics.samples_per_s == pytest.approx(739.7327, abs=1e-3)
    assert row.metrics.first_step_ms == pytest.approx(53.6963, abs=1e-3)
    assert row.case.finished.memory.peak_rss_mb == pytest.approx(484.68, abs=0.01)
    assert session.start.host.processor == "Some Processor"
    assert session.start.host.packages == {"transformers": "4.57.6"}
    assert session.runtime.torch.startswith("2.")
    assert "Imported on" in markdown(session)


def test_an_optimum_report_without_its_configuration_says_only_its_figures(
    imported: Any, optimum_file: Path
) -> None:
    report = msgspec.json.decode(optimum_file.read_bytes())["report"]
    (row,) = measured(imported(report))
    assert (row.name, row.config.device) == ("forward", "unknown")
    assert row.metrics.samples_per_s == pytest.approx(739.7327, abs=1e-3)


def test_a_generation_of_optimum_is_prefill_and_decode(imported: Any, optimum_file: Path) -> None:
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
    assert row.name == "cuda:1 fp16 compile=off bs=4 seq=16"
    assert list(row.case.measured.wall_ms) == pytest.approx([1000.0, 1000.0])
    assert row.metrics.time_to_first_token_ms.median == pytest.approx(150.0)
    assert row.metrics.time_per_output_token_ms.median == pytest.approx(85.0)
    assert row.metrics.energy_per_sample_j == pytest.approx(2e-6 * 3.6e6 / 4)
    assert row.metrics.first_step_ms == 3000.0
    assert row.case.marks == ("timed by CUDA events",)


BROKEN = [
    ("", "not results of a known tool; known are optimum-benchmark"),
    ("{", "not results of a known tool"),
    ("[" * 100_000, "not results of a known tool"),
    ({"results": []}, "results []: expected `array` of length >= 1"),
    ({"results": [{"command": "a", "mean": "slow"}]}, "results[0].mean 'slow': expected `float`, got `str`"),
    (
        {"results": [{"command": "a", "mean": 1, "times": [-1]}]},
        "results[0].times[0] -1: expected `float` >= 0",
    ),
    ([TEST | {"avg_ns": 0}], "test 1: avg_ns 0: expected `float` > 0"),
    ([TEST, TEST | {"n_prompt": 10**12}], "test 2: n_prompt 1000000000000: expected `int` <= "),
    ([{"event": "session_started"}], "a session already"),
    (msgspec.json.encode(LINE).decode() + "\n{half", "line 2: '{half' is not a JSON object"),
    (msgspec.json.encode(LINE | {"batch_size": 1.5}).decode(), "line 1: batch_size 1.5: expected `int`"),
    (
        {"forward": {"latency": {"unit": "ms", "values": [1.0]}, "memory": None}},
        "forward: latency.unit 'ms': invalid enum value",
    ),
    ({"load_model": {"latency": None, "memory": None}}, "no latencies of forward, generate, call, train"),
]


@pytest.mark.parametrize(("content", "said"), BROKEN)
def test_broken_input_is_one_line_with_file_place_and_value(imported: Any, content: object, said: str) -> None:
    with pytest.raises(BenchtuiError) as caught:
        imported(content)
    text = str(caught.value)
    assert said in text
    assert "source" in text
    assert "\n" not in text


def test_models_cannot_be_mixed(imported: Any) -> None:
    text = "\n".join(msgspec.json.encode(LINE | {"model": name}).decode() for name in "ab")
    with pytest.raises(BenchtuiError, match=r"2 models \('a', 'b'\); a session has one: split the file"):
        imported(text)


def test_an_unknown_kind_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match="'hyperfin' is not known \\(did you mean 'hyperfine'"):
        read(tmp_path / "none", "hyperfin")
    assert set(KINDS) == {"optimum-benchmark", "llama-bench", "hyperfine", "batch-sweep", "training-csv"}


def test_an_existing_file_is_not_overwritten(tmp_path: Path, optimum_file: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("precious")
    with pytest.raises(BenchtuiError, match="never overwritten"):
        write(read(optimum_file), path)
    assert path.read_text() == "precious"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BenchtuiError, match="not a text file in UTF-8"):
        read(path)


def test_options_that_combine_to_too_many_cases_are_refused(imported: Any) -> None:
    rows = (LINE | {"batch_size": size, "sequence_length": size} for size in range(1, 400))
    with pytest.raises(BenchtuiError, match="combine to 159,201 cases; at most 100,000"):
        imported("\n".join(msgspec.json.encode(row).decode() for row in rows))


def test_a_generation_without_steps_is_refused(imported: Any) -> None:
    empty = {"latency": {"unit": "s", "values": []}, "memory": None}
    with pytest.raises(BenchtuiError, match="no latencies of"):
        imported({"prefill": empty, "decode": empty})

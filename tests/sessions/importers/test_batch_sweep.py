import json
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export import dataframe
from benchtui.sessions.importers.registry import read
from benchtui.sessions.importers.session_writer import notes
from benchtui.sessions.report.document import markdown
from benchtui.sessions.stats.results import measured

FLAT = {
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
CONTRADICTION = "throughput doesn't agree with batch size over latency"
MB_IN_MIB = 1.048576


@pytest.fixture
def runner_file() -> Path:
    return Path(__file__).parents[2] / "fixtures" / "batch-sweep-runner.jsonl"


def lines(*values: object) -> str:
    return "\n".join(json.dumps(value) for value in values)


def line_of(path: Path, place: int = 0) -> dict[str, Any]:
    return json.loads(path.read_text().splitlines()[place])


def test_statistics_besides_the_mean_are_kept(imported: Any, runner_file: Path) -> None:
    row = measured(imported(runner_file))[0]
    assert (row.metrics.latency_ms.n, row.metrics.latency_ms.mean, row.metrics.samples_per_s) == (
        20,
        15.555979700002354,
        514.7164039926663,
    )
    reported = row.case.finished.reported
    assert (
        reported.latency_median_ms,
        reported.latency_p90_ms,
        reported.latency_p95_ms,
        reported.latency_p99_ms,
    ) == (15.5404, 15.7115, 15.8671, 16.1782)
    assert reported.latency_std_ms == pytest.approx(0.1556 * (20 / 19) ** 0.5)
    assert (reported.mean_power_w, reported.energy_j) == (216.24, 33.6383)


def test_the_runners_memory_is_converted_from_mib(imported: Any, runner_file: Path) -> None:
    rows = measured(imported(runner_file))
    gpu, cpu = rows[0], rows[5]
    memory = gpu.case.finished.memory
    assert memory.peak_rss_mb == pytest.approx(1601.66 * MB_IN_MIB)
    assert memory.peak_device_mb == pytest.approx(746.875 * MB_IN_MIB)
    assert memory.peak_allocated_mb is None
    assert cpu.case.finished.memory.peak_device_mb is None


def test_machine_software_and_model_come_from_the_file(imported: Any, runner_file: Path) -> None:
    session = imported(runner_file)
    host, runtime, model = session.start.host, session.runtime, session.cases[0].prepared.model
    assert (host.hostname, host.platform) == ("kaggle", "Linux-6.6.56+-x86_64-with-glibc2.35")
    assert (host.python, host.processor, host.cpu_count) == ("3.11.11", "x86_64", 4)
    assert [gpu.name for gpu in host.gpus] == ["Tesla P100-PCIE-16GB"]
    assert (runtime.torch, runtime.cuda, runtime.cudnn) == ("2.5.1+cu124", "12.4", 90300)
    assert (model.parameters, model.hidden_size, model.hidden_layers, model.attention_heads) == (
        66_955_010,
        768,
        6,
        12,
    )
    text = markdown(session, full=True)
    assert "- **Parameters**: 66,955,010" in text
    assert "- **PyTorch**: 2.5.1+cu124" in text


def test_dataset_and_warm_up_come_from_the_file(imported: Any, runner_file: Path) -> None:
    sweep = imported(runner_file).start.sweep
    assert (sweep.dataset, sweep.measure.warmup, sweep.measure.iterations) == ("glue:sst2:validation", 5, 20)


@pytest.mark.parametrize("other", [{"split": "train"}, {"dataset": "imdb/"}, {"dataset": None}])
def test_dataset_that_lines_do_not_share_is_unknown(
    imported: Any, runner_file: Path, other: dict[str, str | None]
) -> None:
    first = line_of(runner_file)
    session = imported(lines(first, first | {"batch_size": 16} | other))
    assert session.start.sweep.dataset == "unknown"
    assert "dataset differs between rows: not recorded" in [each.text for each in session.messages]


def test_misleading_field_names_of_the_runner_are_noted(runner_file: Path) -> None:
    texts = "\n".join(notes(read(runner_file)))
    assert "converted from MiB" in texts
    assert "mean of the rates of single steps" in texts
    assert "sets up autocast but never enters it" in texts


def test_mixed_precision_on_a_cpu_is_fp32(imported: Any, runner_file: Path) -> None:
    value = line_of(runner_file, 5) | {"mixed_precision": True}
    assert [row.config.precision for row in measured(imported(lines(value)))] == ["fp32"]


def test_machine_facts_that_differ_between_lines_are_dropped(imported: Any, runner_file: Path) -> None:
    first = line_of(runner_file)
    other = first | {"batch_size": 16, "system_info": first["system_info"] | {"hostname": "other"}}
    session = imported(lines(first, other))
    assert session.start.host.hostname is None
    assert session.start.host.platform == "Linux-6.6.56+-x86_64-with-glibc2.35"
    assert "host differs between rows: not recorded" in [message.text for message in session.messages]


def test_energy_of_the_other_device_is_ignored_and_listed(imported: Any, runner_file: Path) -> None:
    value = line_of(runner_file)
    value["metrics"] |= {"cpu_energy_j": 5.0, "cpu_avg_power_w": 40.0}
    session = imported(lines(value))
    assert session.cases[0].finished.reported.mean_power_w == 216.24
    note = session.messages[-1].text
    assert "metrics.cpu_energy_j, metrics.cpu_avg_power_w" in note


def test_missing_combinations_are_listed_and_not_planned(imported: Any, runner_file: Path) -> None:
    session = imported(runner_file)
    assert len(session.cases) == 10
    note = session.messages[-1].text
    assert note == (
        "not in the file: cpu fp32 compile=off seq=128 at batch size 32, 64, 128; "
        "cuda amp-fp16 compile=off seq=128 at batch size 64, 128"
    )


def test_missing_time_follows_from_the_rate_or_is_reported_with_its_place(
    imported: Any, runner_file: Path
) -> None:
    value = line_of(runner_file)
    del value["metrics"]["latency_ms_mean"], value["metrics"]["latency_ms_median"]
    (row,) = measured(imported(lines(value)))
    assert row.metrics.latency_ms.mean == pytest.approx(8000 / 514.7164039926663)
    del value["metrics"]["throughput_mean"]
    with pytest.raises(BenchtuiError, match="source: no row has a step time or a rate"):
        imported(lines(value))


def test_flat_line_is_a_case_with_reported_statistics(imported: Any) -> None:
    session = imported(
        lines(FLAT, FLAT | {"batch_size": 16, "mixed_precision": False, "throughput_mean": None, "epoch": 1})
    )
    amp, plain = measured(session)
    assert (amp.config.precision, amp.config.device) == ("amp-fp16", "cuda")
    assert (amp.metrics.latency_ms.mean, amp.metrics.samples_per_s) == (15.45, 517.79)
    assert amp.metrics.mean_power_w == 216.24
    assert amp.case.finished.memory.peak_allocated_mb == 746.88
    assert plain.config.precision == "fp32"
    assert plain.metrics.samples_per_s == pytest.approx(16 / 0.01545)
    assert "ignored fields: epoch" in [message.text for message in session.messages]


def test_flat_line_has_unknown_compile_mode_and_task(imported: Any) -> None:
    session = imported(lines(FLAT))
    (row,) = measured(session)
    assert row.name == "cuda amp-fp16 bs=8 seq=128"
    assert session.start.sweep.task == "unknown"


def test_line_without_a_sequence_length_is_labeled(imported: Any) -> None:
    bare = {"device": "cpu", "batch_size": 4, "latency_ms_mean": 2.0}
    session = imported(lines(bare, bare | {"batch_size": 8, "mixed_precision": False}))
    assert [row.name for row in measured(session)] == ["cpu bs=4", "cpu fp32 bs=8"]
    assert [row.metrics.samples_per_s for row in measured(session)] == [2000.0, 4000.0]
    frame = dataframe.frame(session)
    assert frame["sequence_length"].isna().all()
    assert frame["precision"].isna().tolist() == [True, False]  # the name of a case says what its line states
    assert any("rows without a sequence length" in message.text for message in session.messages)
    assert "seq=" not in markdown(session)


def test_rate_that_contradicts_batch_size_and_time_is_marked(imported: Any) -> None:
    odd = {"device": "cpu", "batch_size": 8, "latency_ms_mean": 1, "throughput_mean": 999_999}
    fine = {"device": "cpu", "batch_size": 16, "latency_ms_mean": 10, "throughput_mean": 1500}
    first, second = measured(imported(lines(odd, fine)))
    assert first.case.marks == (CONTRADICTION,)
    assert second.case.marks == ()


def test_several_models_are_part_of_the_names(imported: Any) -> None:
    session = imported(lines(*(FLAT | {"model": name} for name in "ab")))
    assert session.start.sweep.model == "2 models"
    assert [case.config.model for case in session.cases] == ["a", "b"]


def test_many_combinations_are_counted_quickly(imported: Any) -> None:
    session = imported(lines(*(FLAT | {"batch_size": n, "sequence_length": n} for n in range(1, 400))))
    assert len(session.cases) == 399
    note = session.messages[-1].text
    assert "seq=1 at batch size 2, 3, 4, 5, 6, 7, 8, 9, 390 more; " in note
    assert note.endswith("; 393 more")


PRINTED = """# CPU vs. GPU

|   batch_size |   cpu_latency_ms_mean |   gpu_latency_ms_mean |   speedup_latency_ms_mean |   cpu_throughput_mean |   gpu_throughput_mean |   speedup_throughput_mean |   cpu_cpu_memory_mb_max |   gpu_cpu_memory_mb_max |   gpu_gpu_memory_mb_max |   gpu_gpu_avg_power_w |
|-------------:|----------------------:|----------------------:|--------------------------:|----------------------:|----------------------:|--------------------------:|------------------------:|------------------------:|------------------------:|----------------------:|
|         8.00 |                449.57 |                 16.10 |                     27.93 |                 17.83 |                497.94 |                     27.93 |                 1671.68 |                 1599.68 |                  746.88 |                216.24 |

### Interpretation

- **Latency**: GPU is on average 27.93x faster than CPU.
"""  # noqa: E501  (the lines of the document)
PRINTED_CSV = """\
batch_size,cpu_latency_ms_mean,gpu_latency_ms_mean,speedup_latency_ms_mean,cpu_throughput_mean,\
gpu_throughput_mean,speedup_throughput_mean,cpu_cpu_memory_mb_max,gpu_cpu_memory_mb_max,gpu_gpu_memory_mb_max,\
gpu_gpu_avg_power_w
8,449.57,16.10,27.93,17.83,497.94,27.93,1671.68,1599.68,746.88,216.24
"""


@pytest.mark.parametrize("text", [PRINTED, PRINTED_CSV], ids=["document", "csv"])
def test_printed_comparison_of_devices_is_read_with_all_its_columns(text: str, imported: Any) -> None:
    cpu, gpu = measured(imported(text))
    assert [(row.config.device, row.config.batch_size) for row in (cpu, gpu)] == [("cpu", 8), ("cuda", 8)]
    assert [row.metrics.latency_ms.mean for row in (cpu, gpu)] == [449.57, 16.1]
    assert [row.metrics.samples_per_s for row in (cpu, gpu)] == [17.83, 497.94]
    rss_mb = [row.case.finished.memory.peak_rss_mb for row in (cpu, gpu)]
    assert rss_mb == [pytest.approx(peak * MB_IN_MIB) for peak in (1671.68, 1599.68)]
    assert gpu.case.finished.memory.peak_device_mb == pytest.approx(746.88 * MB_IN_MIB)
    assert [row.case.finished.reported.mean_power_w for row in (cpu, gpu)] == [None, 216.24]


@pytest.mark.parametrize("at_top", [True, False])
def test_sequence_length_of_a_nested_line_is_read_inside_and_outside_of_metrics(
    at_top: bool, imported: Any, runner_file: Path
) -> None:
    values = [json.loads(line) for line in runner_file.read_text().splitlines()]
    for value in values:
        value.pop("max_length", None)
        value["metrics"].pop("sequence_length", None)
        (value if at_top else value["metrics"])["sequence_length"] = 64
    session = imported(lines(*values))
    assert {case.config.sequence_length for case in session.cases} == {64}
    assert not any(case.config.label for case in session.cases)

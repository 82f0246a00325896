"""Imported results of the published runners give the figures of their own reports and tables."""

import csv
import json
from pathlib import Path
from typing import Any

import make_batch_sweep_runner
import pytest

from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.report.compare import markdown as comparison_markdown
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import measured

FIXTURES = Path(__file__).parents[2] / "fixtures"
MB_IN_MIB = 1.048576


def session_of(folder: Path, name: str, *lines: dict[str, Any]) -> Session:
    source, path = folder / f"{name}.jsonl", folder / f"{name}.json"
    source.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    session_writer.write(registry.read(source), path)
    return Session.load(path)


def rows_of(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((FIXTURES / name).read_text("utf-8").splitlines()))


def cells(text: str, *beginning: str) -> list[str]:
    """Return the cells of the first row of a Markdown table that begins like this."""
    rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line)
    return next(row for row in rows if tuple(row[: len(beginning)]) == beginning)


def test_fixtures_match_the_output_of_their_script(tmp_path: Path) -> None:
    make_batch_sweep_runner.write(tmp_path)
    written = sorted(tmp_path.iterdir())
    assert [path.name for path in written] == [
        "batch-sweep-batches.csv",
        "batch-sweep-devices.csv",
        "batch-sweep-precisions.csv",
        "batch-sweep-runner.jsonl",
    ]
    for path in written:
        assert path.read_text("utf-8") == (FIXTURES / path.name).read_text("utf-8")


def test_report_of_the_runner_has_the_gains_scaling_and_speedups_of_its_own(imported: Any) -> None:
    text = markdown(imported(FIXTURES / "batch-sweep-runner.jsonl"), full=True)
    gains = text.partition("### Precision")[2]
    found = [cells(gains, f"cuda amp-fp16 bs={size}")[2:4] for size in (8, 16, 32)]
    assert found == [["1.006", "1.007"], ["1.003", "1.003"], ["1.004", "1.004"]]
    scaling = text.partition("## Scaling")[2]
    expected = {8: "1.00", 16: "0.586", 32: "0.299", 64: "0.142", 128: "0.0703"}
    assert {size: cells(scaling, f"cuda fp32 bs={size}")[3] for size in expected} == expected
    assert "616 samples/s, about 53.3 million samples/day" in text
    assert cells(text, "device")[:5] == ["device", "cuda", "cpu", "–", "28.9 to 35.3"]


def test_comparison_of_cpu_and_gpu_has_the_figures_of_the_published_one(tmp_path: Path) -> None:
    cpu = session_of(tmp_path, "cpu", make_batch_sweep_runner.line(make_batch_sweep_runner.ROWS[5]))
    gpu = session_of(tmp_path, "gpu", make_batch_sweep_runner.line(make_batch_sweep_runner.OTHER_GPU_RUN))
    text = comparison_markdown(
        compare_sessions([ComparedSession.of("cpu", cpu), ComparedSession.of("gpu", gpu)])
    )
    assert "27.9 ×" in text
    assert "Tesla P100-PCIE-16GB" in text
    slow, fast = measured(cpu)[0], measured(gpu)[0]
    published = rows_of("batch-sweep-devices.csv")[0]
    assert fast.metrics.samples_per_s / slow.metrics.samples_per_s == float(published["speedup_factor"])
    assert slow.metrics.latency_ms.mean / fast.metrics.latency_ms.mean == pytest.approx(27.93, abs=0.005)
    assert fast.metrics.mean_power_w == 216.24
    peaks = slow.case.finished.memory.peak_rss_mb, fast.case.finished.memory.peak_rss_mb
    assert peaks == pytest.approx((1671.68 * MB_IN_MIB, 1599.68 * MB_IN_MIB))


def test_table_of_batch_sizes_is_a_case_each(imported: Any) -> None:
    session = imported(FIXTURES / "batch-sweep-batches.csv")
    rows, published = measured(session), rows_of("batch-sweep-batches.csv")
    assert [row.name for row in rows] == [f"cuda bs={row['batch_size']}" for row in published]
    for row, known in zip(rows, published, strict=True):
        assert row.metrics.latency_ms.mean == float(known["latency_ms_mean"])
        assert row.metrics.samples_per_s == float(known["throughput_mean"])
        memory = row.case.finished.memory
        assert memory.peak_device_mb == pytest.approx(float(known["gpu_memory_mb_max"]) * MB_IN_MIB)
    text = markdown(session)
    assert "616 samples/s" in text
    assert "seq=" not in text


def test_table_of_devices_has_two_cases_in_a_row(imported: Any) -> None:
    cpu, gpu = measured(imported(FIXTURES / "batch-sweep-devices.csv"))
    assert (cpu.name, gpu.name) == ("cpu bs=8", "cuda bs=8")
    published = rows_of("batch-sweep-devices.csv")[0]
    assert gpu.metrics.samples_per_s / cpu.metrics.samples_per_s == float(published["speedup_factor"])


def test_table_of_precisions_has_two_cases_in_a_row(imported: Any) -> None:
    session = imported(FIXTURES / "batch-sweep-precisions.csv")
    rates = {row.name: row.metrics.samples_per_s for row in measured(session)}
    for row in rows_of("batch-sweep-precisions.csv"):
        mixed, plain = (rates[f"{precision} bs={row['batch_size']}"] for precision in ("amp-fp16", "fp32"))
        assert mixed / plain == float(row["throughput_improvement"])
    assert any("sets up autocast but never enters it" in message.text for message in session.messages)


def test_table_with_a_sequence_length_is_a_series(imported: Any) -> None:
    head, *rows = (FIXTURES / "batch-sweep-batches.csv").read_text("utf-8").splitlines()
    session = imported("\n".join([f"{head},sequence_length", *(f"{row},128" for row in rows)]))
    assert [row.name for row in measured(session)][:1] == ["cuda unknown compile=off bs=8 seq=128"]


def test_time_of_zero_in_a_table_is_marked(imported: Any) -> None:
    text = "batch_size,cpu_latency_ms,gpu_latency_ms,cpu_throughput_sps,gpu_throughput_sps\n8,1,0,8000,\n"
    session = imported(text)
    assert [bool(case.marks) for case in session.cases] == [False, True]

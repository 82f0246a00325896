"""Imported results of the published runners give the figures of their own reports and tables."""

import csv
from pathlib import Path
from typing import Any

import make_batch_sweep_runner
import pytest

from benchtui.sessions.report.document import markdown
from benchtui.sessions.stats.results import measured

FIXTURES = Path(__file__).parents[2] / "fixtures"
MB_IN_MIB = 1.048576


def rows_of(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((FIXTURES / name).read_text("utf-8").splitlines()))


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


def test_time_of_zero_in_a_table_is_marked(imported: Any) -> None:
    text = "batch_size,cpu_latency_ms,gpu_latency_ms,cpu_throughput_sps,gpu_throughput_sps\n8,1,0,8000,\n"
    session = imported(text)
    assert [bool(case.marks) for case in session.cases] == [False, True]

import csv
import json
from typing import Any

import jsonschema
import msgspec
import pytest

from benchtui.sessions.export import case_export, parquet
from benchtui.sessions.payloads import Energy, Memory
from benchtui.sessions.sweep import Baseline, Measure, Sweep

EVIL = '=1+1\n"a,b"\x1b[31m\x9b\u202e|'


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def two(bench: Any) -> Any:
    sweep = Sweep(name="hand", model="tiny", measure=Measure(baseline=Baseline(batch_size=1)))
    ok = {
        "memory": Memory(peak_rss_mb=512.5),
        "energy": Energy(energy_j=9.0, mean_power_w=3.0, source="counter"),
    }
    return bench.session(
        bench.case(
            1, 10.0, end=ok, warmup_ms=[50.0, 10.0], parts={"forward": [4.0] * 30}, marks=("sample text",)
        ),
        bench.case(2, 10.0),
        bench.case(4, outcome="oom", end={"reason": "out of memory"}),
        sweep=sweep,
    )


def test_every_case_is_a_row_with_metrics_or_empty_cells(bench: Any) -> None:
    first, second, third = rows(case_export.as_csv(two(bench)))
    assert [row["outcome"] for row in (first, second, third)] == ["ok", "ok", "oom"]
    assert (first["n"], first["warmup_steps"], first["marks"]) == ("30", "2", "sample text")
    assert float(first["latency_p50_ms"]) == pytest.approx(10)
    assert float(first["cold_cost_ms"]) == pytest.approx(40)
    assert float(first["samples_per_s"]) == pytest.approx(100)
    assert float(first["energy_per_sample_j"]) == pytest.approx(0.3)
    assert (first["peak_rss_mb"], first["part_forward_mean_ms"]) == ("512.5", "4.0")
    assert first["latency_p99_ms"] == first["peak_allocated_mb"] == first["reason"] == ""
    assert (second["baseline"], second["verdict"], second["part_forward_mean_ms"]) == ("0", "FASTER", "")
    assert float(second["speedup"]) == pytest.approx(2)
    figures = [third[name] for name in ("n", "latency_mean_ms", "samples_per_s", "baseline", "verdict")]
    assert (third["reason"], figures) == ("out of memory", [""] * 5)


def test_json_matches_its_schema_with_null_for_missing_values(bench: Any) -> None:
    found = json.loads(case_export.as_json(two(bench)))
    jsonschema.validate(found, msgspec.json.schema(case_export.Results))
    assert found["schema"] == 3
    assert (found["session"]["model"], found["session"]["torch"], found["session"]["driver"]) == (
        "tiny",
        "2.9",
        None,
    )
    first, _, third = found["cases"]
    assert set(first) == set(third)
    assert first["parts_ms"]["forward"]["p50"] == 4.0
    assert (third["latency_p50_ms"], third["parts_ms"]) == (None, {})


def test_csv_has_the_flat_fields_of_the_json(bench: Any) -> None:
    row = rows(case_export.as_csv(two(bench)))[0]
    fields = json.loads(case_export.as_json(two(bench)))["cases"][0]
    nested = {"parts_ms", "outlier_steps"}
    assert set(row) == {*(set(fields) - nested), "part_forward_mean_ms"}


def test_untrusted_text_cannot_control_a_terminal_or_a_spreadsheet(bench: Any) -> None:
    session = bench.session(bench.case(1, outcome="failed", end={"reason": EVIL, "stderr_line": "-x"}))
    text = case_export.as_csv(session)
    (row,) = rows(text)
    assert row["reason"] == '\'=1+1 "a,b"�[31m��|'
    assert row["stderr_line"] == "'-x"
    for each in (text, case_export.as_json(session)):
        assert not {"\x1b", "\x9b", "\u202e"} & set(each)


def test_parquet_has_the_rows_of_the_csv(bench: Any, tmp_path: Any) -> None:
    pytest.importorskip("pyarrow.parquet")
    case_export.write_parquet(two(bench), tmp_path / "r.parquet", ())
    table = parquet.import_pyarrow().parquet.read_table(tmp_path / "r.parquet")
    assert table.column("batch_size").to_pylist() == [1, 2, 4]
    assert table.column("latency_p50_ms").null_count == 1

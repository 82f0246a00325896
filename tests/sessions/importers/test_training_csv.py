from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export import dataframe
from benchtui.sessions.report.document import markdown
from benchtui.sessions.stats.baseline import baseline_of
from benchtui.sessions.stats.results import measured


def test_fastest_run_leads_the_plain_one_by_93_percent(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    results = measured(session)
    fastest = max(results, key=lambda row: row.metrics.samples_per_s)
    config = fastest.config
    assert (config.precision, config.compile, config.batch_size) == ("amp-fp16", "reduce-overhead", 5)
    assert fastest.metrics.padded_tokens_per_s == pytest.approx(13_564.16, abs=0.01)
    baseline = baseline_of(config, results, session.start.sweep.measure.baseline)
    assert baseline is not None
    assert baseline.name == "cuda amp-fp16 compile=off bs=1 seq=768"
    assert round(100 * (fastest.metrics.samples_per_s / baseline.metrics.samples_per_s - 1)) == 93


def test_duplicate_run_is_one_case_with_two_repeats(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    twice = [row for row in measured(session) if row.metrics.rounds_ms]
    (row,) = twice
    assert (row.config.compile, row.config.batch_size, row.config.precision) == ("default", 2, "amp-fp16")
    assert row.metrics.latency_ms.n == 1000
    assert row.metrics.rounds_ms == pytest.approx((146.862849, 146.92656))
    assert row.metrics.latency_ms.mean == pytest.approx(146.894705)
    assert 10_422.8 < row.metrics.padded_tokens_per_s < 10_427.4


def test_combinations_missing_from_the_table_are_listed(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    assert [case.state for case in session.cases] == ["ok"] * 19
    assert session.finished.outcome == "completed"
    assert session.messages[-1].text == (
        "not in the file: cuda amp-fp16 compile=off seq=768 at batch size 4, 5; "
        "cuda fp32 compile=default seq=768 at batch size 1, 5; "
        "cuda fp32 compile=reduce-overhead seq=768 at batch size 1, 4, 5; "
        "cuda fp32 compile=off seq=768 at batch size 1, 3, 4, 5"
    )
    assert "skipped" not in markdown(session)


def test_fp16_of_the_script_is_autocast(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    assert session.start.sweep.axes.precision == ("amp-fp16", "fp32")
    note = "precision: fp16 in the script is autocast with a GradScaler, imported as amp-fp16"
    assert note in [message.text for message in session.messages]


def test_utilization_and_the_call_of_compile_are_kept_with_a_remark(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    frame = dataframe.frame(session).set_index("name")
    best = frame.loc["cuda amp-fp16 compile=default bs=3 seq=768"]
    assert best["reported_gpu_utilization_percent"] == 95.848
    assert best["reported_compile_call_s"] == pytest.approx(0.70874245)
    assert frame["reported_compile_call_s"].isna().sum() == 4  # those that don't compile
    assert best["cold_cost_ms"] is None or best.isna()["cold_cost_ms"]
    texts = "\n".join(message.text for message in session.messages)
    assert "0.6994 to 0.7619 s for the call of torch.compile, which doesn't compile yet" in texts
    assert "gpu_utilization_avg: 81.42 to 99.22 %" in texts
    assert "ignored fields" not in texts
    cells = markdown(session, full=True).partition("## Every case")[2].partition("\n## ")[0]
    assert " 95.8 |" in cells and " 0.709 |" in cells


def test_optimizers_are_named_in_the_cases(imported: Any, optimizer_file: Path) -> None:
    """Figures are those of the script's own summary, round 1."""
    session = imported(optimizer_file)
    rows = {row.config.optimizer: row for row in measured(session)}
    assert list(rows) == [
        *("adafactor", "adamw", "adamp", "qhm", "sophiag", "adam8bit", "lion8bit", "fusedadam")
    ]
    lion, adamw = rows["lion8bit"], rows["adamw"]
    assert lion.name == "cuda amp-fp16 compile=default opt=lion8bit bs=6 seq=768"
    assert list(dataframe.frame(session)["optimizer"]) == list(rows)
    assert (round(lion.metrics.padded_tokens_per_s, 2), lion.metrics.latency_ms.n) == (15_179.04, 500)
    assert lion.metrics.latency_ms.mean * 500 == pytest.approx(150_422, abs=0.5)
    assert round(100 * (lion.metrics.samples_per_s / adamw.metrics.samples_per_s - 1), 1) == 6.3
    memory, saved = lion.case.finished.memory, adamw.case.finished.memory
    assert (memory.peak_allocated_mb, memory.peak_rss_mb) == (4253.545984, 1715.621888)
    assert round(100 * (memory.peak_allocated_mb / saved.peak_allocated_mb - 1), 1) == -16.9
    assert lion.case.marks == ("random weights",)
    text = markdown(session, full=True)
    assert "total_time over steps, which includes the first step, loading of data and torch's profiler" in text
    assert "collator_time: 0.5568 to 0.5818 s of all steps together, not imported" in text


def test_optimizers_keep_the_options_that_differ(imported: Any, optimizer_file: Path) -> None:
    head, first, second, *_ = optimizer_file.read_text().splitlines()
    place = head.split(",").index("batch_size")
    cells = second.split(",")
    larger = ",".join([*cells[:place], "8", *cells[place + 1 :]])
    names = [case.name for case in imported("\n".join([head, first, larger]), "training-csv").cases]
    assert names == [
        "cuda amp-fp16 compile=default opt=adafactor bs=6 seq=768",
        "cuda amp-fp16 compile=default opt=adamw bs=8 seq=768",
    ]


def test_readings_that_the_script_could_not_take_are_missing(imported: Any, optimizer_file: Path) -> None:
    head, first, *_ = optimizer_file.read_text().splitlines()
    cells = dict(zip(head.split(","), first.split(","), strict=True))
    cells |= {"gpu_utilization_avg": "-1", "max_cpu_ram": "-1", "max_vram": "0.0"}
    (case,) = imported("\n".join([head, ",".join(cells.values())]), "training-csv").cases
    assert case.finished.memory is None
    assert case.finished.reported.gpu_utilization_percent is None
    assert case.name.startswith("cpu fp32 compile=off opt=adafactor")  # what the script does on a CPU


def test_more_tokens_than_fit_in_a_batch_are_marked(imported: Any) -> None:
    head = f"{HEAD},padding"
    fine, odd = "a_F_def_,fp32,False,4,5,1,20,8,longest", "b_F_def_,fp32,False,8,5,1,99,8,longest"
    rows = measured(imported(f"{head}\n{fine}\n{odd}\n", "training-csv"))
    assert [bool(row.case.marks) for row in rows] == [False, True]


def test_missing_attention_column_stays_unknown(imported: Any) -> None:
    session = imported(f"{HEAD}\na_F_def_,fp32,False,1,5,1,8,8\n", "training-csv")
    assert session.cases[0].config.attention == "unknown"


def test_fields_missing_from_the_table_stay_unknown(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    host = session.start.host
    assert (host.hostname, host.gpus, session.runtime, session.start.sweep.dataset) == (
        None,
        (),
        None,
        "unknown",
    )
    assert all(row.metrics.cold_cost_ms is None for row in measured(session))


HEAD = "name,precision,compile,batch_size,steps,avg_step_time,tokens_per_sec,max_length"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("a,fp16,True,1,5,nan,,8", "no row has a step time or a rate: line 2: no step time"),
        ("a,fp16,True,1,5,fast,,8", "line 2: avg_step_time 'fast' isn't a number"),
        ("a,fp16,True,1,5,1,1,8,9", "neither JSON nor a table with a header and rows of numbers"),
        ("", "neither JSON nor a table with a header and rows of numbers"),
    ],
)
def test_invalid_row_is_reported_with_line_and_value(imported: Any, row: str, expected: str) -> None:
    with pytest.raises(BenchtuiError, match="source") as caught:
        imported(f"{HEAD}\n{row}\n", "training-csv")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)

from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.advice.optimal import decide
from benchtui.sessions.errors import BenchtuiError
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


def test_batch_3_has_the_most_tokens_per_megabyte(imported: Any, csv_file: Path) -> None:
    decision = decide(imported(csv_file), Objective("memory"))
    assert decision.best is not None
    config = decision.best.config
    assert (config.precision, config.compile, config.batch_size) == ("amp-fp16", "default", 3)
    memory = decision.best.case.finished.memory
    assert memory is not None
    rate = decision.best.metrics.padded_tokens_per_s
    assert rate / memory.peak_allocated_mb == pytest.approx(4.24, abs=0.005)


def test_data_frame_ranks_cases_like_the_table(imported: Any, csv_file: Path) -> None:
    frame = imported(csv_file).to_frame()
    first = frame.sort_values("padded_tokens_per_s", ascending=False).iloc[0]
    assert (first["compile"], first["batch_size"], first["device"]) == ("reduce-overhead", 5, "cuda")
    assert frame["latency_p50_ms"].isna().all()


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
        "combinations of options missing from the file: cuda amp-fp16 compile=off bs=4 seq=768, "
        "cuda amp-fp16 compile=off bs=5 seq=768, cuda fp32 compile=default bs=1 seq=768, 8 more"
    )
    assert "skipped" not in markdown(session)


def test_fp16_of_the_script_is_autocast(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    assert session.start.sweep.axes.precision == ("amp-fp16", "fp32")
    assert (
        session.messages[1].text
        == "precision: fp16 in the script is autocast with a GradScaler, imported as amp-fp16"
    )


def test_ignored_columns_are_listed_with_their_range(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    texts = [message.text for message in session.messages]
    assert (
        "ignored fields: compile_warmup_time"
        " (0 to 0.7619; time of calling torch.compile, which compiles nothing yet), "
        "gpu_utilization_avg (81.42 to 99.22; read by nvidia-smi once after each step)"
    ) in texts
    assert any(text.startswith("samples/s: tokens_per_sec over max_length") for text in texts)
    assert "compile_warmup_time (0 to 0.7619" in markdown(session)


def test_ignored_text_column_is_listed_without_a_range(imported: Any) -> None:
    session = imported(f"{HEAD},optimizer\na_F_def_,fp32,False,1,5,1,8,8,adamw\n", "training-csv")
    assert session.messages[-1].text == "ignored fields: optimizer"


def test_rate_that_contradicts_batch_size_and_step_is_marked(imported: Any) -> None:
    head = f"{HEAD},padding"
    fine, odd = "a_F_def_,fp32,False,4,5,1,31,8,max_length", "b_F_def_,fp32,False,8,5,1,31,8,max_length"
    rows = measured(imported(f"{head}\n{fine}\n{odd}\n", "training-csv"))
    assert [row.case.marks for row in rows] == [(), ("throughput doesn't agree with batch size over latency",)]


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
        ("a,fp16,True,0,5,1,1,8", "line 2: batch_size '0': expected `int` >= 1"),
        ("a,fp16,True,1,5,nan,1,8", "line 2: avg_step_time 'nan': expected `float` > 0"),
        ("a,fp16,maybe,1,5,1,1,8", "line 2: compile 'maybe': expected `bool`"),
        ("a,fp16,True,1,5,1,1", "missing required field `max_length`"),
        ("a,fp16,True,1,5,1,1,8,9", "line 2: more values than columns (8)"),
        ("", "contains no measurements"),
    ],
)
def test_invalid_row_is_reported_with_line_and_value(imported: Any, row: str, expected: str) -> None:
    with pytest.raises(BenchtuiError, match="source") as caught:
        imported(f"{HEAD}\n{row}\n", "training-csv")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_oversized_field_is_rejected(imported: Any) -> None:
    with pytest.raises(BenchtuiError, match="field larger than field limit"):
        imported(f"{HEAD}\na,{'x' * 200_000},True,1,5,1,1,8\n", "training-csv")

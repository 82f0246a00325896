from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.compare import Verdict, baseline_of, throughput_ratio
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.optimal import Wish, decide
from benchtui.sessions.results import measured


def test_the_fastest_run_leads_the_plain_one_by_93_percent(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    decision = decide(session, Wish("throughput"))
    assert decision.best is not None
    config = decision.best.config
    assert (config.precision, config.compile, config.batch_size) == ("fp16", "reduce-overhead", 5)
    assert decision.best.metrics.padded_tokens_per_s == pytest.approx(13_564.16, abs=0.01)
    baseline = baseline_of(decision.best, measured(session), session.start.sweep.measure.baseline)
    assert baseline is not None
    assert baseline.name == "cuda fp16 compile=off bs=1 seq=768"
    ratio = throughput_ratio(baseline, decision.best)
    assert ratio is not None
    assert round(100 * (ratio.value - 1)) == 93
    assert decision.verdict is Verdict.UNSURE


def test_the_most_tokens_for_a_megabyte_are_those_of_batch_3(imported: Any, csv_file: Path) -> None:
    decision = decide(imported(csv_file), Wish("memory"))
    assert decision.best is not None
    config = decision.best.config
    assert (config.precision, config.compile, config.batch_size) == ("fp16", "default", 3)
    memory = decision.best.case.finished.memory
    assert memory is not None
    rate = decision.best.metrics.padded_tokens_per_s
    assert rate / memory.peak_allocated_mb == pytest.approx(4.24, abs=0.005)


def test_the_frame_ranks_like_the_table(imported: Any, csv_file: Path) -> None:
    frame = imported(csv_file).to_frame()
    first = frame.sort_values("padded_tokens_per_s", ascending=False).iloc[0]
    assert (first["compile"], first["batch_size"], first["device"]) == ("reduce-overhead", 5, "cuda")
    assert frame["median_ms"].isna().all()


def test_a_run_that_stands_there_twice_is_one_case_of_two_repeats(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    twice = [row for row in measured(session) if row.metrics.rounds_ms]
    (row,) = twice
    assert (row.config.compile, row.config.batch_size, row.config.precision) == ("default", 2, "fp16")
    assert row.metrics.latency_ms.n == 1000
    assert row.metrics.rounds_ms == pytest.approx((146.862849, 146.92656))
    assert row.metrics.latency_ms.mean == pytest.approx(146.894705)
    assert 10_422.8 < row.metrics.padded_tokens_per_s < 10_427.4


def test_combinations_the_table_lacks_are_cases_not_measured(imported: Any, csv_file: Path) -> None:
    session = imported(csv_file)
    holes = [case for case in session.cases if case.state == "skipped"]
    assert len(session.cases) == 2 * 3 * 5
    assert len(holes) == 11
    assert {case.finished.reason for case in holes} == {"not measured: the file has no such row"}
    assert session.finished.outcome == "completed"


def test_what_the_table_does_not_say_stays_unknown(imported: Any, csv_file: Path) -> None:
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
    ("row", "said"),
    [
        ("a,fp16,True,0,5,1,1,8", "line 2: batch_size '0': expected `int` >= 1"),
        ("a,fp16,True,1,5,nan,1,8", "line 2: avg_step_time 'nan': expected `float` > 0"),
        ("a,fp16,maybe,1,5,1,1,8", "line 2: compile 'maybe': expected `bool`"),
        ("a,fp16,True,1,5,1,1", "missing required field `max_length`"),
        ("a,fp16,True,1,5,1,1,8,9", "line 2: more values than the 8 columns"),
        ("", "no measurement in it"),
    ],
)
def test_a_broken_row_is_told_with_its_line_and_value(imported: Any, row: str, said: str) -> None:
    with pytest.raises(BenchtuiError, match="source") as caught:
        imported(f"{HEAD}\n{row}\n", "training-csv")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_field_without_end_is_refused(imported: Any) -> None:
    with pytest.raises(BenchtuiError, match="field larger than field limit"):
        imported(f"{HEAD}\na,{'x' * 200_000},True,1,5,1,1,8\n", "training-csv")

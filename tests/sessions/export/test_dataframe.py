from typing import Any

import pytest

from benchtui.sessions.export import dataframe
from benchtui.sessions.payloads import Energy, Memory
from benchtui.sessions.state.session import Session


def test_frame_has_a_row_per_case_with_options_outcome_and_metrics(bench: Any) -> None:
    end = {"memory": Memory(peak_rss_mb=300.0), "energy": Energy(energy_j=60.0, source="counter")}
    session = bench.session(
        bench.case(2, 10.0, end=end, marks=("random weights", "sample text")),
        bench.case(4, outcome="oom", end={"reason": "out of memory"}),
        bench.case(8, outcome=None),
    )
    frame = dataframe.frame(session)
    assert list(frame["outcome"]) == ["ok", "oom", "running"]
    assert list(frame["batch_size"]) == [2, 4, 8]
    first = frame.iloc[0]
    assert (first["n"], first["latency_p50_ms"], first["peak_rss_mb"]) == (30, pytest.approx(10.0), 300.0)
    assert first["latency_interval_low_ms"] < first["latency_p50_ms"] < first["latency_interval_high_ms"]
    assert first["samples_per_s"] == pytest.approx(200.0)
    assert first["energy_per_sample_j"] == pytest.approx(1.0)
    assert first["marks"] == "random weights; sample text"
    assert frame.iloc[1]["reason"] == "out of memory"
    assert frame[["n", "latency_p50_ms", "latency_p99_ms"]].iloc[1:].isna().all(axis=None)


def test_columns_keep_their_types_without_values(bench: Any) -> None:
    frame = dataframe.frame(bench.session(bench.case(1, outcome=None)))
    assert str(frame["latency_p99_ms"].dtype) == "float64"
    assert str(frame["n"].dtype) == "Int64"
    assert list(dataframe.frame(Session()).columns) == list(frame.columns)

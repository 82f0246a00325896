"""Leaderboard, memory, energy, jitter, anomalies and disturbed rows, read as a renderer would."""

import json
from typing import Any

from benchtui.sessions.events import CaseAdded, CaseFinished, RoundFinished
from benchtui.sessions.export.case_export import as_json
from benchtui.sessions.payloads import Energy, Environment, Memory
from benchtui.sessions.sweep import Config

from ..conftest import full_report


def gpu(bench: Any, size: int, ms: float, peak_mb: float, **options: Any) -> Any:
    end = {
        "memory": Memory(peak_rss_mb=900.0, peak_allocated_mb=peak_mb - 50, peak_device_mb=peak_mb),
        "energy": Energy(energy_j=30.0 * size, mean_power_w=100.0, source="counter"),
        "marks": options.pop("marks", ()),
    }
    return bench.case(size, ms, device="cuda:0", end=end, **options)


def test_leaderboard_compares_no_worker_with_a_device(bench: Any, read: Any) -> None:
    on_cpu = bench.case(1, 50.0, end={"memory": Memory(peak_rss_mb=400.0)})
    session = bench.session(on_cpu, gpu(bench, 1, 10.0, 500.0))
    section = read(full_report(session))["Ranked, 128 tokens"]
    assert section.columns("Peak memory (MB)") == [["500"], ["400"]]
    assert "Memory against the baseline (%)" not in section.tables[0][0]


def test_price_is_shown_with_the_costs(bench: Any, read: Any) -> None:
    session = bench.session(gpu(bench, 1, 10.0, 500.0))
    document = read(full_report(session, per_hour=3.6))
    assert document["Decision"].columns("Per million samples") == [["10.0"]]
    assert any(text.startswith("Price: 3.6 an hour") for text in document["Method"].paragraphs)
    without = full_report(session)
    assert "per million" not in without
    assert "Price" not in without


def test_use_of_processors_by_others_is_that_of_the_worst_round(bench: Any, read: Any) -> None:
    def event(kind: Any, used: float, **more: Any) -> Any:
        return kind(t=1.0, case=0, environment=Environment(others_cpu_percent=used, processors=2), **more)

    made = bench.case(1, 10.0)
    worst, last = event(RoundFinished, 146.0, round=0), event(CaseFinished, 4.0, outcome="ok")
    session = bench.session(made)
    session.apply_all([worst, last])
    assert read(full_report(session))["Every case"].columns("CPU use of other processes (%)") == [["146"]]
    assert json.loads(as_json(session))["cases"][0]["others_cpu_percent"] == 146.0


def test_what_limits_the_clock_is_named_unless_it_is_throttling(bench: Any, read: Any) -> None:
    capped = Environment(throttle=("sw_power_cap", "hw_thermal", "app_clocks"))
    session = bench.session(bench.case(1, 10.0, end={"environment": capped}), bench.case(2, 15.0))
    shown = read(full_report(session))["Every case"].columns("Clock limited by")
    assert shown == [["sw power cap, app clocks"], ["–"]]
    hot = bench.case(1, 10.0, end={"environment": Environment(throttle=("hw_thermal",))})
    assert "Clock limited by" not in full_report(bench.session(hot))


def test_mark_of_all_cases_is_not_repeated_in_each(bench: Any, read: Any) -> None:
    made = [bench.case(1, 10.0, marks=("sample text",)), bench.case(2, 15.0, marks=("sample text", "odd"))]
    assert read(full_report(bench.session(*made)))["Every case"].columns("Marks") == [["–"], ["odd"]]


def test_cases_are_numbered_from_1_as_on_the_screen(bench: Any, read: Any) -> None:
    more = [CaseAdded(t=60.0, case=2, config=Config(device="cpu", batch_size=1), why="again", of=0)]
    session = bench.session(bench.case(1, 10.0), bench.case(2, 15.0), more=more, finished=None)
    rows = read(full_report(session))["Every case"].columns("No.", "Case")
    assert [number for number, _ in rows] == ["1", "2", "3"]
    assert rows[2][1].endswith("(rerun of case 1)")

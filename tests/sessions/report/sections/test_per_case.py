"""Leaderboard, memory, energy, jitter, anomalies and disturbed rows, read as a renderer would."""

import json
from typing import Any

import pytest

from benchtui.sessions.events import CaseAdded, CaseFinished, RoundFinished
from benchtui.sessions.export.case_export import as_json
from benchtui.sessions.payloads import Energy, Environment, Memory
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Baseline, Config, Measure, Sweep


def full_report(session: Session, per_hour: float | None = None) -> str:
    return markdown(session, per_hour, full=True)


def gpu(bench: Any, size: int, ms: float, peak_mb: float, **options: Any) -> Any:
    end = {
        "memory": Memory(peak_rss_mb=900.0, peak_allocated_mb=peak_mb - 50, peak_device_mb=peak_mb),
        "energy": Energy(energy_j=30.0 * size, mean_power_w=100.0, source="counter"),
        "marks": options.pop("marks", ()),
    }
    return bench.case(size, ms, device="cuda:0", end=end, **options)


def test_leaderboard_compares_ranked_cases_with_the_baseline(bench: Any, read: Any) -> None:
    rules = Measure(baseline=Baseline(batch_size=1))
    session = bench.session(
        gpu(bench, 1, 10.0, 500.0),
        gpu(bench, 4, 20.0, 800.0),
        gpu(bench, 2, 19.98, 600.0),
        sweep=Sweep(name="hand", model="tiny", measure=rules),
    )
    section = read(full_report(session, per_hour=3.6))["Ranked, 128 tokens"]
    titles = ("Rank", "Case", "Throughput (samples/s)", "Against the baseline (%)", "Verdict")
    assert section.columns(*titles) == [
        ["1", "cuda:0 fp32 bs=4", "200", "+100", "FASTER"],
        ["2", "cuda:0 fp32 bs=2", "100", "+0.10", "UNSURE: can't resolve below 20 %"],
        ["3", "cuda:0 fp32 bs=1", "100", "–", "the baseline"],
    ]
    assert section.columns("Memory against the baseline (%)") == [["+60.0"], ["+20.0"], ["–"]]
    assert section.columns("95% interval (%)")[0] == ["+81.2 to +121"]
    assert section.columns("Cost of a million samples") == [["5.00"], ["9.99"], ["10.0"]]


def test_leaderboard_compares_no_worker_with_a_device(bench: Any, read: Any) -> None:
    on_cpu = bench.case(1, 50.0, end={"memory": Memory(peak_rss_mb=400.0)})
    session = bench.session(on_cpu, gpu(bench, 1, 10.0, 500.0))
    section = read(full_report(session))["Ranked, 128 tokens"]
    assert section.columns("Peak memory (MB)") == [["500"], ["400"]]
    assert "Memory against the baseline (%)" not in section.tables[0][0]


def test_memory_has_the_memory_used_on_the_device(bench: Any, read: Any) -> None:
    """The only memory that some sources read."""
    end = {"memory": Memory(peak_rss_mb=900.0, peak_device_mb=783.0)}
    document = read(full_report(bench.session(bench.case(8, 10.0, device="cuda", end=end))))
    section = document["Memory"]
    titles = ("CPU memory, peak RSS (MB)", "GPU memory, peak used on the device (MB)")
    assert section.columns(*titles) == [["900", "783"]]


def test_price_is_shown_with_the_costs(bench: Any, read: Any) -> None:
    session = bench.session(gpu(bench, 1, 10.0, 500.0))
    document = read(full_report(session, per_hour=3.6))
    assert document["Decision"].columns("Per million samples") == [["10.0"]]
    assert any(text.startswith("Price: 3.6 an hour") for text in document["Method"].paragraphs)
    without = full_report(session)
    assert "per million" not in without
    assert "Price" not in without


def test_only_device_memory_is_divided_by_the_batch_size(bench: Any, read: Any) -> None:
    host = bench.case(2, 10.0, end={"memory": Memory(peak_rss_mb=640.0)})
    session = bench.session(gpu(bench, 1, 10.0, 500.0), gpu(bench, 4, 20.0, 800.0), host)
    section = read(full_report(session))["Memory"]
    titles = (
        "Peak memory (MB)",
        "Where",
        "Peak over batch (MB/sample)",
        "Each further sample (MB)",
        "Samples/s per MB",
    )
    assert section.columns(*titles) == [
        ["500", "on the device", "500", "–", "0.200"],
        ["800", "on the device", "200", "100", "0.250"],
        ["640", "of the worker (RSS)", "–", "–", "0.312"],
    ]


def test_memory_frontier_names_both_sides(bench: Any, read: Any) -> None:
    session = bench.session(
        gpu(bench, 1, 10.0, 500.0),
        gpu(bench, 4, 20.0, 800.0),
        bench.case(16, outcome="oom", device="cuda:0", end={"reason": "out of memory on cuda:0"}),
        bench.case(8, outcome="oom", device="cuda:0", end={"reason": "90 MB asked for"}),
        bench.case(8, outcome="oom"),
    )
    document = read(full_report(session))
    assert document["Out of memory"].tables[0][1:] == [
        ["cuda:0 fp32 compile=off seq=128", "4", "800", "8", "90 MB asked for"]
    ]


def test_energy_is_shown_per_sample_and_per_joule(bench: Any, read: Any) -> None:
    section = read(full_report(bench.session(gpu(bench, 2, 10.0, 500.0))))["Energy"]
    titles = ("Energy (J/sample)", "Samples/J", "Energy (J per 1,000 tokens)", "Read from")
    assert section.columns(*titles) == [["1.00", "1.00", "20.0", "counter"]]


def test_jitter_is_relative_to_the_mean_step(bench: Any, read: Any) -> None:
    slow, fast = bench.case(1, [90.0, 110.0] * 60), bench.case(2, [9.0, 11.0] * 60)
    section = read(full_report(bench.session(slow, fast)))["Performance metrics"]
    titles = ("Std (ms)", "Jitter (%)", "p99 over p50", "Range (ms)")
    assert section.columns(*titles) == [
        ["10.0", "10.0", "1.10", "90.0 to 110"],
        ["1.00", "10.0", "1.10", "9.00 to 11.0"],
    ]


def test_anomalies_are_shown_with_their_certainty(bench: Any, read: Any) -> None:
    times = {1: 10.0, 2: 20.0, 4: 30.0, 8: 80.0, 16: 160.0}
    session = bench.session(*(bench.case(size, ms) for size, ms in times.items()))
    ((case, what, sure),) = read(full_report(session))["Anomalies"].tables[0][1:]
    assert case == "cpu fp32 bs=4"
    assert what == "step is 25.0 % shorter than batch sizes 2 and 8 predict"
    assert sure == "-43.3 to -0.79 %"
    calm = bench.session(*(bench.case(size, 10.0 * size) for size in times))
    assert "Anomalies" not in read(full_report(calm)).titles


@pytest.mark.parametrize(("need", "size"), [("Most throughput per MB", 4), ("Balanced", 1)])
def test_each_need_has_an_optimum(bench: Any, read: Any, need: str, size: int) -> None:
    session = bench.session(gpu(bench, 1, 10.0, 500.0), gpu(bench, 4, 20.0, 800.0))
    document = read(full_report(session))
    assert document.need(need)["Run"] == f"cuda:0 fp32 bs={size}"
    assert document.need(need)["Next best"].startswith(f"cuda:0 fp32 bs={5 - size}, ")


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

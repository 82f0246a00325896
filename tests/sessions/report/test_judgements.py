"""Judgments on misleading metrics: ties, tails, unsound peaks, and facts that a file lacks."""

import json
from pathlib import Path
from typing import Any

import pytest
from journals import import_results

from benchtui.sessions.analysis.anomalies import anomalies
from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.sessions.events import Peaks, Resumed, Runtime
from benchtui.sessions.library import paths
from benchtui.sessions.payloads import Host, Memory, Reported, StepCost
from benchtui.sessions.plots import curves
from benchtui.sessions.plots.spec import Plan, plot_data
from benchtui.sessions.report import compare
from benchtui.sessions.report.comparison import systems
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Baseline, Measure, Sweep

from .conftest import full_report

FIXTURES = Path(__file__).parents[2] / "fixtures"


def swept(baseline: Baseline | None = None, **measure: Any) -> Sweep:
    return Sweep(name="hand", model="tiny", measure=Measure(baseline=baseline, **measure))


def amp(bench: Any, device_mb: float = 796.88, by: float = 1.003, sizes: tuple[int, ...] = (8, 16)) -> Any:
    """The runner's table: the same memory and the same times with autocast and without."""

    def case(size: int, precision: str, ms: float) -> Any:
        figures = Reported(steps=20, latency_mean_ms=ms, samples_per_s=1000 * size / ms)
        peak = Memory(peak_allocated_mb=(746.88 if precision == "fp32" else device_mb) + size)
        end = {"reported": figures, "memory": peak}
        return bench.case(size, device="cuda:0", precision=precision, end=end, model=None)

    times = {size: 10.0 * size**0.5 for size in sizes}
    pairs = [(case(size, "fp32", ms), case(size, "amp-fp16", ms / by)) for size, ms in times.items()]
    return bench.session(*(each for pair in pairs for each in pair))


def test_autocast_with_memory_and_times_of_fp32_was_probably_not_applied(bench: Any, read: Any) -> None:
    session = amp(bench, device_mb=746.88)
    document = read(full_report(session))
    ((case, what, sure),) = document["Anomalies"].tables[0][1:]
    assert case == "cuda:0 amp-fp16 compile=off bs=8 seq=128"
    assert what == (
        "same peak memory as fp32 and times within 0.30 % at batch sizes 8 and 16: autocast was probably not"
        " applied"
    )
    assert sure == "not verified"
    (found,) = anomalies(measured(session), ())
    assert found.share == pytest.approx(1 - 1 / 1.003)
    throughput = document.need("Maximum throughput")
    assert (throughput["Run"], throughput["Next best"]) == (
        "cuda:0 fp32 compile=off bs=16 seq=128",
        "cuda:0 amp-fp16 compile=off bs=16 seq=128, 401 samples/s",
    )
    assert all(row[1].startswith("cuda:0 fp32") for row in document["Choices"].tables[0][1:])


@pytest.mark.parametrize(
    "others", [{"device_mb": 700.0}, {"by": 1.05}, {"sizes": (8,)}], ids=["memory", "time", "one size"]
)
def test_no_autocast_anomaly_if_memory_or_time_differs_or_with_one_pair(
    bench: Any, others: dict[str, Any]
) -> None:
    session = amp(bench, **({"device_mb": 746.88} | others))
    assert "no effect" not in [each.kind for each in anomalies(measured(session), ())]


def test_verified_autocast_is_no_anomaly(bench: Any) -> None:
    def case(size: int, precision: str, autocast: str | None) -> Any:
        effective = bench.effective(autocast_dtype=autocast)
        end = {"memory": Memory(peak_allocated_mb=700.0)}
        return bench.case(size, 10.0, device="cuda:0", precision=precision, end=end, effective=effective)

    rows = [case(size, *each) for size in (1, 2) for each in (("fp32", None), ("amp-fp16", "float16"))]
    assert "no effect" not in [each.kind for each in anomalies(bench.results(*rows), ())]


def test_facts_missing_from_a_source_are_not_reported_as_equal(tmp_path: Path, read: Any) -> None:
    row = {
        "device": "",
        "batch_size": 8,
        "mixed_precision": False,
        "latency_ms_mean": 9,
        "throughput_mean": 888,
    }
    sides = []
    for device in ("cpu", "cuda"):
        source = tmp_path / f"{device}.jsonl"
        source.write_text(json.dumps(row | {"device": device}) + "\n")
        sides.append(ComparedSession.of(device, import_results(source, tmp_path / f"{device}.json")))
    document = read(compare.markdown(compare_sessions(sides)))
    section = document["What differs"]
    assert section.tables[0][1:] == [["settings", "device", "cpu", "cuda"]]
    assert section.text == "Neither session says which machine or software it ran on."
    assert (
        document["Comparison: cpu and cuda"]
        .paragraphs[0]
        .startswith("A (base): cpu. Measured on an unrecorded date, imported on 2")
    )
    twice = read(compare.markdown(compare_sessions([sides[0], sides[0]])))
    assert twice["What differs"].text == (
        "Neither session says which machine or software it ran on; the rest is the same."
    )


def test_known_facts_are_equal_and_a_session_without_them_is_named(bench: Any) -> None:
    def session(host: Host, torch: str | None = "2.9") -> Session:
        made = Session()
        made.apply_all(
            each
            for each in bench.events(bench.case(1, 10.0), host=host)
            if torch or not isinstance(each, Runtime)
        )
        return made

    box = Host(hostname="box", platform="Linux")
    both = compare_sessions([ComparedSession.of("a", session(box)), ComparedSession.of("b", session(box))])
    assert systems.no_differences_text(both) == "Same machine, same software, same workload, same settings."
    assert systems.unrecorded_text(both) == ""
    silent = compare_sessions(
        [ComparedSession.of("a", session(box)), ComparedSession.of("b", session(box, None))]
    )
    assert systems.unrecorded_text(silent) == "Session B doesn't say which software it ran on."


def test_same_workload_is_claimed_only_if_files_were_recorded(bench: Any) -> None:
    recorded, old = (
        ComparedSession.of(name, bench.session(bench.case(1, 10.0, prepared=prepared)))
        for name, prepared in (("a", {}), ("b", {"files": {}}))
    )
    said = [systems.no_differences_text(compare_sessions(sides)) for sides in ([recorded, old], [old, old])]
    assert said == [
        "Same machine, same software, same settings, and the same workload by name: Session B doesn't record"
        " which versions of its files were used.",
        "Same machine, same software, same settings, and the same workload by name: Sessions A and B don't"
        " record which versions of its files were used.",
    ]


def test_report_tells_changed_files(bench: Any) -> None:
    mark = "changed: a.py (11111111; in case 1, 00000000)"
    resumed = Resumed(t=1.5, created="", host=Host(), cases=(), files=("a.py: 00000000 → 11111111",))
    session = bench.session(bench.case(1, 10.0), bench.case(2, 10.0, end={"marks": (mark,)}))
    session.resumed.append(resumed)
    text = markdown(session)
    assert "no case has finished since 1.5 s, when files changed: a.py: 00000000 → 11111111." in text
    assert f"1 of 2 cases; {mark.removeprefix('changed: ')}." in " ".join(text.replace("\n> ", " ").split())


def drawn(document: Plan) -> list[curves.Line]:
    return list(document.draw.keywords["drawn_lines"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_throughput_point_lies_within_its_error_bar(bench: Any, rounds: int) -> None:
    """Even where a few steps take a hundred times as long, so that the mean is far from the median."""

    def uneven(size: int, turn: int) -> list[float]:
        slow = 1000.0 + 300 * turn
        return [slow if place % 30 == 7 else size * 10.0 + turn + place % 5 / 10 for place in range(60)]

    made = [
        bench.case(size, ms=10.0, rounds=[uneven(size, turn) for turn in range(rounds)]) for size in (1, 2, 4)
    ]
    data = plot_data(bench.session(*made, sweep=swept(rounds=rounds)))
    plan = curves.plan(data, curves.throughput(data.results))
    assert isinstance(plan, Plan)
    (line,) = drawn(plan)
    for point in line.points:
        assert point.low is not None and point.high is not None
        assert point.low < point.value < point.high


def test_case_interval_covers_the_spread_between_rounds(bench: Any, read: Any) -> None:
    """Three rounds, each exact, with medians far apart."""
    apart = bench.case(1, 10.0, rounds=[[ms + step / 1000 for step in range(30)] for ms in (9.0, 10.0, 14.0)])
    session = bench.session(apart, sweep=swept(rounds=3))
    ((half, between),) = read(full_report(session))["Results"].columns("± 95% (%)", "Step (ms)")
    assert float(half) > 50
    assert between == "10.8", "the geometric mean of the rounds' medians"
    text = full_report(session)
    assert "within this session" not in text
    assert "by Student's t over the 3 rounds of each case: steps and fresh processes" in text


def test_an_interval_wider_than_the_median_has_no_number(bench: Any, read: Any) -> None:
    rounds = [[ms + step / 1000 for step in range(30)] for ms in (2.0, 10.0, 40.0)]
    session = bench.session(bench.case(1, 10.0, rounds=rounds), sweep=swept(rounds=3))
    report = read(full_report(session))
    assert report["Results"].columns("± 95% (%)") == [["over 100"]]
    assert report["Performance metrics"].columns("± 95% interval (%)") == [["over 100"]]


PEAKS = Peaks(t=0.1, device="cpu", precision="fp32", flops_per_s=1e11, bytes_per_s=1e10)


def counted(bench: Any, size: int, gflop: float, gb: float = 0.1, weights_gb: float = 0.05) -> Any:
    work = StepCost(flops=gflop * 1e9, bytes_moved=gb * 1e9, bytes_of_weights=weights_gb * 1e9)
    return bench.case(size, 100.0, end={"work": work})


def test_peak_exceeded_by_one_case_is_used_for_none(bench: Any, read: Any) -> None:
    session = bench.session(counted(bench, 1, gflop=6.0), counted(bench, 2, gflop=15.0), more=[PEAKS])
    section = read(full_report(session))["Limits"]
    assert "Share of the measured peak (%)" not in section.tables[0][0]
    assert "150" not in " ".join(cell for row in section.tables[0][1:] for cell in row[-4:])
    assert "arithmetic" not in {cell for row in section.tables[0] for cell in row}
    assert "Peaks of cpu fp32: no TFLOP/s: exceeded by a case" in section.text


def test_whole_table_has_one_baseline(bench: Any, read: Any) -> None:
    """A batch size alone names it, and more than one case has that: the first in the plan is the baseline."""
    cases = [
        bench.case(size, ms, precision=precision, device="cuda:0")
        for precision, ms in (("fp32", 10.0), ("amp-fp16", 9.0))
        for size in (8, 16)
    ]
    session = bench.session(*cases, sweep=swept(Baseline(batch_size=8)))
    section = read(full_report(session))["Ranked, 128 tokens"]
    assert "Baseline: cuda:0 fp32 compile=off bs=8 seq=128 (800 samples/s)." in markdown(session)
    changes = section.columns("Case", "Against the baseline (%)")
    assert changes == [
        ["cuda:0 amp-fp16 compile=off bs=16 seq=128", "+122"],
        ["cuda:0 fp32 compile=off bs=16 seq=128", "+100"],
        ["cuda:0 amp-fp16 compile=off bs=8 seq=128", "+11.1"],
        ["cuda:0 fp32 compile=off bs=8 seq=128", "–"],
    ]
    session.judge_by(VerdictSettings(Baseline(precision="amp-fp16")))
    again = read(full_report(session))["Ranked, 128 tokens"]
    assert again.columns("Verdict")[2] == ["the baseline"]


def two_lengths(bench: Any, first: dict[str, Any]) -> Session:
    """Batch sizes 1 and 4 at 16 and 32 tokens, the first of the latter with another end."""
    made: Session = bench.session(
        bench.case(1, 10.0, sequence_length=16),
        bench.case(4, 35.0, sequence_length=16),
        bench.case(1, sequence_length=32, **first),
        bench.case(4, 60.0, sequence_length=32),
        bench.case(8, 115.0, sequence_length=32),
        sweep=swept(Baseline(batch_size=1)),
    )
    return made


def test_memory_of_all_workloads_has_one_unit(bench: Any, read: Any) -> None:
    cases = [
        bench.case(1, 10.0, sequence_length=length, end={"memory": Memory(peak_rss_mb=peak_mb)})
        for length, peak_mb in ((32, 983.0), (512, 1310.0))
    ]
    document = read(full_report(bench.session(*cases)))
    assert document["Decision"].columns("Peak memory") == [["0.915 GiB"], ["1.22 GiB"]]
    assert document["Results"].columns("Peak memory (GiB)") == [["0.915"], ["1.22"]]


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ({"outcome": "skipped", "end": {"reason": "dropped"}}, "was skipped"),
        ({"outcome": "oom"}, "ran out of memory"),
        ({"outcome": "failed"}, "failed"),
        ({"outcome": None}, "hasn't been measured yet"),
    ],
)
def test_cases_of_different_lengths_are_never_compared(
    bench: Any, read: Any, first: dict[str, Any], why: str
) -> None:
    document = read(full_report(two_lengths(bench, first)))
    reason = f"he baseline, cpu fp32 compile=off bs=1 seq=32, {why}."
    ranked = document["Ranked, 32 tokens"]
    assert "Against the baseline (%)" not in ranked.tables[0][0]
    assert f"none: t{reason.removesuffix('.')}" in document["Decision"].text
    assert document.need("Maximum throughput, 32 tokens")["Against the baseline"] == "–"
    assert document["Ranked, 16 tokens"].columns("Verdict")[1:] == [["the baseline"]]


def test_shorter_median_with_a_longer_tail_is_not_clearly_ahead(bench: Any, read: Any) -> None:
    long = [40.0 if place % 50 == 49 else 10.0 + place % 7 / 100 for place in range(200)]
    short = [11.5 + place % 7 / 100 for place in range(200)]
    cases = [
        bench.case(1, times, rounds=[times] * 3, threads=threads) for threads, times in ((2, long), (1, short))
    ]
    document = read(full_report(bench.session(*cases, sweep=swept(rounds=3))))
    row = document.need("Minimum latency")
    assert row["Run"] == "cpu fp32 compile=off threads=2 bs=1 seq=128"
    assert row["Figure"].startswith("10.0 ms (")
    assert row["Confidence"] == "ahead of the next, but not in its slow steps (p99)"


def steps_of(middle_ms: float, width: float) -> list[float]:
    return [middle_ms * (1 + width * (place * 7 % 120 / 119 - 0.5)) for place in range(120)]


@pytest.mark.parametrize("rounds", [1, 3])
def test_steadiest_case_is_left_out_unless_it_surely_is_and_as_fast(bench: Any, rounds: int) -> None:
    equal = [bench.case(1, rounds=[steps_of(10.0, 0.05)] * rounds, ms=[10.0], threads=each) for each in (0, 2)]
    slower = bench.case(1, rounds=[steps_of(14.0, 0.01)] * rounds, ms=[14.0], threads=3)
    text = full_report(bench.session(*equal, slower, sweep=swept(rounds=rounds)))
    assert "Steadiest" not in text


def test_what_a_source_reports_decides_without_a_tie_of_more_than_the_margin(tmp_path: Path, read: Any) -> None:
    """One repeated row is too little to know the noise: a lead of 3.5% over a simpler case is a lead."""
    session = import_results(FIXTURES / "gpt2-training-results.csv", tmp_path / "gpt2.json")
    text = full_report(session)
    best = read(text).need("Maximum throughput")
    assert best["Run"] == "cuda amp-fp16 compile=reduce-overhead bs=5 seq=768"
    assert best["Confidence"] == "indistinguishable from 3 others"


def test_cpu_demo_recommends_no_compiling_without_an_established_gain(read: Any) -> None:
    session = Session.load(paths.demo_path(paths.CPU_DEMO))
    document = read(full_report(session))
    needs = (document.need(f"Maximum throughput, {length} tokens")["Run"] for length in (32, 128))
    assert list(needs) == [f"cpu fp32 compile=off threads=1 bs=4 seq={length}" for length in (32, 128)]

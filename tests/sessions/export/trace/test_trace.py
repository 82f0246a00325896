"""Traces: format, places of slices, counters, instants; of recorded, simulated and hand-made sessions."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sessions.export.trace.trace_format import Event, check

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Continued,
    Explained,
    Message,
    NodeJoined,
    NodeLost,
    Paused,
    RoundFinished,
    SessionFinished,
    Steps,
    Telemetry,
)
from benchtui.sessions.export.trace.export import load_trace, write_trace
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Compiling, GpuReadings, Host, HostReadings, Model
from benchtui.sessions.profiles import StepProfile, Timeline

ROOT = Path(__file__).parents[4]
RECORDED = sorted((ROOT / "tests" / "fixtures" / "recorded").glob("*.json"))
DEMOS = sorted((ROOT / "sessions" / "library" / "demo").glob("*.json"))
MODEL = Model(name="tiny")
Write = Callable[..., list[Event]]


def trace_of(path: Path, **options: int) -> bytes:
    out = io.BytesIO()
    write_trace(load_trace(path), out, **options)
    return out.getvalue()


@pytest.fixture
def traced(bench: Any, tmp_path: Path) -> Write:
    """Return the checked events of a session of two empty cases with these events."""

    def write(*events: AnyEvent, ended: bool = True, **options: int) -> list[Event]:
        journal = Journal(tmp_path / "s.json")
        start = bench.events(
            bench.case(1, outcome=None, model=None), bench.case(2, outcome=None, model=None), finished=None
        )
        end = [SessionFinished(t=99.0, outcome="completed")] if ended else []
        kept = [event for event in start if not isinstance(event, CaseStarted)]
        for event in (*kept, *events, *end):
            journal.append(event)
        journal.close()
        return check(trace_of(tmp_path / "s.json", **options))

    return write


def started(bench: Any, case: int, t: float, **more: Any) -> CaseStarted:
    return CaseStarted(t=t, case=case, config=bench.case(case + 1).config, **more)


def steps(case: int, t: float, wall_ms: list[float], **more: Any) -> Steps:
    return Steps(**{"t": t, "case": case, "phase": "measure", "wall_ms": wall_ms} | more)


def slices(events: list[Event], name: str) -> list[tuple[int, int]]:
    return [(each["ts"], each["dur"]) for each in events if each["ph"] == "X" and each["name"] == name]


def instants(events: list[Event], category: str) -> list[tuple[int, str]]:
    return [(each["ts"], each["name"]) for each in events if each["ph"] == "i" and each["cat"] == category]


def counters(events: list[Event], name: str) -> list[tuple[int, float]]:
    return [
        (each["ts"], each["args"]["value"]) for each in events if each["ph"] == "C" and each["name"] == name
    ]


def process_names(events: list[Event]) -> dict[int, str]:
    return {each["pid"]: each["args"]["name"] for each in events if each.get("name") == "process_name"}


@pytest.mark.parametrize("path", [*RECORDED, *DEMOS], ids=lambda path: path.stem)
def test_trace_follows_the_format_and_has_every_step(path: Path) -> None:
    events = check(trace_of(path))
    lines = [line for line in path.read_bytes().splitlines() if b'"event":"steps"' in line]
    recorded = [json.loads(line.rstrip(b",")) for line in lines]
    found = [each["args"]["wall_ms"] for each in events if each["ph"] == "X" and "step" in each["name"]]
    assert found == [ms for line in recorded for ms in line["wall_ms"]]
    for part in {part for line in recorded for part in line["parts_ms"]}:
        assert len(slices(events, part)) == sum(len(line["parts_ms"].get(part, ())) for line in recorded)


def test_demo_is_named_as_simulated() -> None:
    text = trace_of(ROOT / "sessions" / "library" / "demo" / "demo.json")
    facts, events = json.loads(text)["otherData"], check(text)
    assert facts["simulated"].startswith("SIMULATED: computed by a roofline model")
    names = process_names(events)
    assert len(names) == 6 and all(name.startswith("SIMULATED ") for name in names.values())
    gpus = [process for process, name in names.items() if ": GPU " in name]
    for process in gpus:
        assert {each["name"] for each in events if each["ph"] == "C" and each["pid"] == process} >= {
            "power (W)",
            "SM clock (MHz)",
            "utilization (%)",
            "memory used (MB)",
        }
    assert {each["cat"] for each in events if each["pid"] in gpus and each["ph"] == "X"} == {
        "throttling",
        "clock limit",
    }
    assert instants(events, "outlier")


def test_steps_lie_back_to_back_and_end_when_they_were_recorded(bench: Any, traced: Write) -> None:
    events = traced(
        started(bench, 0, 1.0),
        CasePrepared(t=3.0, case=0, model=MODEL, load_s=0.5),
        steps(0, 3.1, [50.0, 40.0], phase="warmup", parts_ms={"forward": [40.0, 30.0], "result": [5.0, 20.0]}),
        steps(0, 3.5, [100.0, 200.0]),
        steps(0, 3.6, [150.0]),
        CaseFinished(t=4.0, case=0, outcome="ok", marks=("noisy",)),
    )
    assert slices(events, "start the worker") == [(1_000_000, 1_500_000)]
    assert slices(events, "load") == [(2_500_000, 500_000)]
    assert slices(events, "warm-up step") == [(3_010_000, 50_000), (3_060_000, 40_000)]
    assert slices(events, "step") == [(3_200_000, 100_000), (3_300_000, 200_000), (3_500_000, 150_000)]
    assert slices(events, "forward") == [(3_010_000, 40_000), (3_060_000, 30_000)]
    assert slices(events, "result") == [(3_050_000, 5_000), (3_090_000, 10_000)], "cut off at the step's end"
    begins = [(each["name"], each["ts"]) for each in events if each["ph"] == "B"]
    assert begins[1:] == [("warm-up", 3_010_000), ("measure", 3_200_000)]
    assert [each["ts"] for each in events if each["ph"] == "E"] == [3_100_000, 3_650_000, 4_000_000]
    assert instants(events, "mark") == [(4_000_000, "noisy")]


def test_compiling_steps_and_outliers_are_marked(bench: Any, traced: Write) -> None:
    usual = [10.0] * 30
    events = traced(
        started(bench, 0, 1.0),
        steps(0, 3.0, [900.0, 9.0], phase="warmup"),
        steps(0, 4.0, usual),
        CaseRepeated(t=4.1, case=0, reason="the GPU was throttled", pause_s=1.0),
        started(bench, 0, 5.0),
        steps(0, 6.0, [800.0, 9.0], phase="warmup"),
        steps(0, 7.0, [*usual, 70.0]),
        CaseFinished(
            t=8.0,
            case=0,
            outcome="ok",
            compiling=Compiling(graphs=1, graph_breaks=0, recompiles=1, cold=(0,), unsteady=(3,)),
        ),
    )
    assert slices(events, "warm-up step, compiling") == [(5_191_000, 800_000)], "not in the discarded attempt"
    assert len(slices(events, "step, compiling")) == 1
    assert instants(events, "outlier") == [(6_930_000, "outlier")]
    assert instants(events, "mark") == [(4_100_000, "remeasured: the GPU was throttled")]


def test_readings_are_counters_of_their_machine_and_gpu(traced: Write) -> None:
    events = traced(
        NodeJoined(t=1.0, node="far", host=Host(hostname="far"), kind="H100", clock_offset_s=0.5),
        Telemetry(
            t=2.0,
            at_s=[1.5, 2.0],
            node="far",
            gpus=(GpuReadings(index=3, power_w=[None, 400.0], throttle=["hw_thermal", "hw_thermal"]),),
            host=HostReadings(cpu_percent=[None, 90.0], package_energy_j=[10.0, 60.0]),
        ),
        Telemetry(t=5.0, at_s=[], stood_still_s=2.0),
    )
    names = process_names(events)
    assert list(names.values())[2:] == ["far", "far: GPU 3"]
    assert counters(events, "power (W)") == [(2_000_000, 400.0)]
    assert counters(events, "CPU power (W)") == [(2_000_000, 100.0)]
    assert [names[each["pid"]] for each in events if each["ph"] == "C"] == ["far", "far", "far: GPU 3"]
    assert slices(events, "hw thermal") == [(1_500_000, 500_000)]
    assert slices(events, "stalled") == [(3_000_000, 2_000_000)]


def test_workers_on_one_device_have_their_own_tracks(bench: Any, traced: Write) -> None:
    events = traced(
        started(bench, 0, 1.0),
        started(bench, 1, 1.5),
        steps(0, 3.0, [100.0]),
        CaseFinished(t=4.0, case=0, outcome="failed", reason="boom"),
        CaseFinished(t=5.0, case=1, outcome="ok"),
    )
    names = [each["args"]["name"] for each in events if each.get("name") == "thread_name"]
    assert [name for name in names if name.startswith("worker")] == ["worker cpu", "worker cpu (2)"]
    assert instants(events, "mark") == [(4_000_000, "failed: boom")]


def test_log_and_pauses_are_on_tracks_of_the_session(traced: Write) -> None:
    events = traced(
        Message(t=0.5, level="warning", text="careful, \x1b[31m\n"),
        Paused(t=1.0),
        Continued(t=2.0),
        Paused(t=3.0),
        CaseFinished(t=3.5, case=1, outcome="skipped", reason="no cuda:0"),
    )
    assert instants(events, "warning") == [(500_000, "careful, \x1b[31m\n")]
    assert [(each["ts"], each["ph"]) for each in events if each["tid"] == 2 and each["ph"] in "BE"] == [
        (1_000_000, "B"),
        (2_000_000, "E"),
        (3_000_000, "B"),
        (99_000_000, "E"),
    ]
    assert [name.partition(": ")[2] for _, name in instants(events, "case")] == ["skipped: no cuda:0"]


def test_slices_end_where_a_record_does(bench: Any, traced: Write) -> None:
    joined = NodeJoined(t=0.5, node="far", host=Host(hostname="far"), kind="cpu", clock_offset_s=0.0)
    events = traced(
        joined,
        started(bench, 0, 1.0, node="far"),
        steps(0, 2.0, [100.0]),
        NodeLost(t=3.0, node="far", reason="gone"),
        started(bench, 1, 4.0),
        steps(1, 5.0, [100.0]),
        ended=False,
    )
    assert [each["ts"] for each in events if each["ph"] == "E"] == [2_000_000, 3_000_000, 5_000_000, 5_000_000]


def test_long_session_merges_steps(bench: Any, traced: Write) -> None:
    walls = [10.0, 20.0, 30.0, 40.0, 50.0]
    events = traced(
        started(bench, 0, 1.0),
        steps(0, 2.0, walls, parts_ms={"forward": [5.0] * 5}, tokens=[7] * 5),
        RoundFinished(t=3.0, case=0, round=0),
        most_steps=3,
    )
    assert slices(events, "steps") == [(1_850_000, 30_000), (1_880_000, 70_000), (1_950_000, 50_000)]
    assert slices(events, "forward") == [(1_850_000, 10_000), (1_880_000, 10_000), (1_950_000, 5_000)]
    merged = [each["args"] for each in events if each.get("name") == "steps"]
    assert [(each["step"], each["steps"], each["wall_ms"], each["tokens"]) for each in merged] == [
        (0, 2, 30, 14),
        (2, 2, 70, 14),
        (4, 1, 50, 7),
    ]


def test_times_beyond_a_clock_are_refused(bench: Any, traced: Write) -> None:
    with pytest.raises(BenchtuiError, match="too long for a trace"):
        traced(started(bench, 0, 1.0), steps(0, 2.0, [1e18]))


def test_many_long_steps_do_not_overflow(bench: Any, traced: Write) -> None:
    events = traced(started(bench, 0, 1.0), *(steps(0, 2.0, [9e11], tokens=[10**18]) for _ in range(3)))
    assert [dur for _, dur in slices(events, "step")] == [900_000_000_000_000] * 3


def test_profiles_have_tracks_of_their_own_from_the_first_measured_step_on(bench: Any, traced: Write) -> None:
    timeline = Timeline(
        names=("aten::linear", "aten::addmm", "gemm"),
        tracks=("main thread", "GPU stream 7"),
        name=(0, 1, 2, 1, 9),
        track=(0, 0, 1, 0, 0),
        start_ms=(0.1, 0.2, 0.3, 0.5, 0.6),
        duration_ms=(0.4, 0.3004, 1.0, 0.1, 0.1),
        step_ms=1.5,
    )
    profile = StepProfile(
        steps=1, step_ms=1.5, plain_steps=3, plain_ms=1.4, families=(), launches=3.0, timeline=timeline
    )
    events = traced(
        started(bench, 0, 1.0),
        steps(0, 2.0, [100.0]),
        CaseFinished(t=3.0, case=0, outcome="ok"),
        Explained(t=3.0, case=0, created="2026-11-24T09:00:00Z", profile=profile),
        Explained(t=3.0, case=1, created="2026-11-24T09:00:00Z", absent="the machine has changed"),
    )
    process = max(process_names(events))
    assert process_names(events)[process].startswith("profile of cpu")
    assert slices(events, "profiled step") == [(1_900_000, 1_500)]
    assert slices(events, "aten::linear") == [(1_900_100, 400)]
    assert slices(events, "aten::addmm") == [(1_900_200, 300), (1_900_500, 100)], "within the one around it"
    assert slices(events, "gemm") == [(1_900_300, 1_000)]
    tracks = {
        each["tid"]: each["args"]["name"]
        for each in events
        if each.get("name") == "thread_name" and each["pid"] == process
    }
    assert tracks == {1: "step", 2: "main thread", 3: "GPU stream 7"}
    assert [name.partition(": ")[2] for _, name in instants(events, "case")] == ["no profile"]

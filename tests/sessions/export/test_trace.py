"""Traces: format, nesting, batches of steps, counters; of recorded, simulated and hand-made sessions."""

import io
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CaseRepeated,
    CaseStarted,
    Message,
    NodeJoined,
    NodeLost,
    Phase,
    SessionFinished,
    Steps,
    Telemetry,
)
from benchtui.sessions.export.trace import write_trace
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import GpuReadings, Host, HostReadings

ROOT = Path(__file__).parents[3]
RECORDED = sorted((ROOT / "tests" / "fixtures" / "recorded").glob("*.json"))
DEMOS = sorted((ROOT / "sessions" / "library" / "demo").glob("*.json"))
Event = dict[str, Any]
Write = Callable[..., list[Event]]
FIELDS = {"B": {"name", "cat", "args"}, "E": set(), "X": {"name", "cat", "dur"}, "i": {"name", "cat", "s"}}
FIELDS |= {"C": {"name", "args"}, "M": {"name", "args"}}


def trace_of(path: Path) -> dict[str, Any]:
    out = io.BytesIO()
    write_trace(path, out)
    whole: dict[str, Any] = json.loads(out.getvalue())
    check(whole["traceEvents"])
    return whole


def check(events: list[Event]) -> None:
    """Check required fields, that names precede events, and that the slices of a track nest and end."""
    named: set[tuple[str, int, int]] = set()
    open_slices: dict[tuple[int, int], int] = defaultdict(int)
    end_us: dict[tuple[int, int], int] = defaultdict(int)
    for event in events:
        track = event["pid"], event["tid"]
        assert set(event) >= {"ph", "ts"} | FIELDS[event["ph"]] and event["ts"] >= 0, event
        if event["ph"] == "M":
            named.add((event["name"], *track))
            continue
        assert ("process_name", event["pid"], 0) in named, event
        assert event["ph"] == "C" or ("thread_name", *track) in named, event
        if event["ph"] in "BEX":
            assert event["ts"] >= end_us[track], f"overlaps: {event}"
            end_us[track] = event["ts"] + event.get("dur", 0)
            open_slices[track] += {"B": 1, "E": -1, "X": 0}[event["ph"]]
            assert open_slices[track] in (0, 1), event
    assert not any(open_slices.values()), "a slice has no end"


@pytest.fixture
def traced(bench: Any, tmp_path: Path) -> Write:
    """Return the trace events of a session of two empty cases with these events."""

    def write(*events: AnyEvent, ended: bool = True) -> list[Event]:
        journal = Journal(tmp_path / "s.json")
        start = bench.events(
            bench.case(1, outcome=None, model=None), bench.case(2, outcome=None, model=None), finished=None
        )
        end = [SessionFinished(t=99.0, outcome="completed")] if ended else []
        kept = [event for event in start if not isinstance(event, CaseStarted)]
        for event in (*kept, *events, *end):
            journal.append(event)
        journal.close()
        return list(trace_of(tmp_path / "s.json")["traceEvents"])

    return write


def started(bench: Any, case: int, t: float, **more: Any) -> CaseStarted:
    return CaseStarted(t=t, case=case, config=bench.case(case + 1).config, **more)


def steps(case: int, t: float, wall_ms: list[float], phase: Phase = "measure", **more: Any) -> Steps:
    return Steps(t=t, case=case, phase=phase, wall_ms=wall_ms, **more)


def spans(events: list[Event], name: str) -> list[tuple[int, int]]:
    return [(event["ts"], event["dur"]) for event in events if event["ph"] == "X" and event["name"] == name]


def names(events: list[Event], kind: str) -> list[str]:
    return [event["args"]["name"] for event in events if event.get("name") == kind]


@pytest.mark.parametrize("path", [*RECORDED, *DEMOS], ids=lambda path: path.stem)
def test_trace_follows_the_format_and_counts_every_step(path: Path) -> None:
    events = trace_of(path)["traceEvents"]
    lines = [line for line in path.read_bytes().splitlines() if b'"event":"steps"' in line]
    recorded = sum(len(json.loads(line.rstrip(b","))["wall_ms"]) for line in lines)
    assert (
        sum(event["args"]["steps"] for event in events if event.get("cat") in ("warmup", "measure")) == recorded
    )


def test_batches_of_steps_end_when_they_were_recorded(bench: Any, traced: Write) -> None:
    events = traced(
        started(bench, 0, 1.0),
        steps(0, 3.1, [50.0, 40.0], phase="warmup", parts_ms={"forward": [40.0, 30.0]}),
        steps(0, 3.5, [100.0, 200.0]),
        steps(0, 3.6, [150.0]),
        CaseRepeated(t=3.7, case=0, reason="the GPU was throttled", pause_s=1.0),
        started(bench, 0, 5.0),
        CaseFinished(t=6.0, case=0, outcome="ok", marks=("noisy",)),
    )
    assert spans(events, "warm-up") == [(3_010_000, 90_000)]
    assert spans(events, "measure") == [(3_200_000, 300_000), (3_500_000, 150_000)], (
        "not before the last one's end"
    )
    warmup = next(event["args"] for event in events if event.get("name") == "warm-up")
    assert warmup == {"round": 0, "steps": 2, "mean_ms": 45.0, "longest_ms": 50.0, "mean_forward_ms": 35.0}
    ends = [(event["ts"], event["args"]["ended"]) for event in events if event["ph"] == "E"]
    assert ends == [(3_700_000, "remeasured: the GPU was throttled"), (6_000_000, "ok")]


def test_readings_are_counters_of_their_machine_and_gpu(traced: Write) -> None:
    events = traced(
        NodeJoined(t=1.0, node="far", host=Host(hostname="far"), kind="H100", clock_offset_s=0.5),
        Telemetry(
            t=2.0,
            at_s=[1.5, 2.0],
            node="far",
            gpus=(GpuReadings(index=3, power_w=[None, 400.0], throttle=["hw_thermal", "hw_thermal"]),),
            host=HostReadings(cpu_percent=[None, 90.0]),
        ),
    )
    assert names(events, "process_name") == ["far: GPU 3", "far"]
    counters = [(event["ts"], event["name"], event["args"]["value"]) for event in events if event["ph"] == "C"]
    assert counters == [(2_000_000, "CPU, all processes (%)", 90.0), (2_000_000, "power (W)", 400.0)]
    assert spans(events, "hw thermal") == [(1_500_000, 500_000)]


def test_workers_on_one_device_have_their_own_tracks(bench: Any, traced: Write) -> None:
    events = traced(
        started(bench, 0, 1.0),
        started(bench, 1, 1.5),
        steps(0, 3.0, [100.0]),
        CaseFinished(t=4.0, case=0, outcome="failed", reason="boom"),
        CaseFinished(t=5.0, case=1, outcome="ok"),
    )
    assert names(events, "thread_name") == ["worker cpu", "worker cpu (2)"]
    assert [event["args"]["ended"] for event in events if event["ph"] == "E"] == ["failed: boom", "ok"]


def test_slices_end_where_a_record_does(bench: Any, traced: Write) -> None:
    events = traced(
        NodeJoined(t=0.5, node="far", host=Host(hostname="far"), kind="cpu", clock_offset_s=0.0),
        started(bench, 0, 1.0, node="far"),
        steps(0, 2.0, [100.0]),
        NodeLost(t=3.0, node="far", reason="gone"),
        Message(t=3.5, level="warning", text="careful, \x1b[31m\n"),
        started(bench, 1, 4.0),
        steps(1, 5.0, [100.0]),
        ended=False,
    )
    assert [event["ts"] for event in events if event["ph"] == "E"] == [5_000_000, 5_000_000]
    log = [event["name"] for event in events if event["ph"] == "i"]
    assert log == ["node far lost: gone", "careful, \x1b[31m\n"]


def test_times_beyond_a_clock_are_refused(bench: Any, traced: Write) -> None:
    with pytest.raises(BenchtuiError, match="too long for a trace"):
        traced(started(bench, 0, 1.0), steps(0, 2.0, [1e18]))

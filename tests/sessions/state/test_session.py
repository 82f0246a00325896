import copy
import json
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    Answered,
    AnyEvent,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Message,
    OrderChanged,
    Resumed,
    RoundFinished,
    SessionStarted,
    Steps,
    Telemetry,
)
from benchtui.sessions.export.case_export import as_json
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import (
    AnswerComparison,
    Effective,
    Gpu,
    GpuReadings,
    Host,
    HostReadings,
    Memory,
    Model,
    StepCost,
)
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state import session as session_module
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Columns, Trace
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Config, Sweep


def steps(case: int = 0, **columns: Any) -> Steps:
    given: dict[str, Any] = {"t": 2.0, "case": case, "phase": "measure", "wall_ms": [1.0]} | columns
    return Steps(**given)


def test_case_goes_from_queued_to_running_to_its_outcome(session: Session) -> None:
    case, later = session.cases
    assert (case.state, case.name) == ("queued", "cpu fp32 compile=off bs=1 seq=128")
    session.apply(CaseStarted(t=1.0, case=0, config=case.config))
    assert (case.state, session.current, session.done) == ("running", case, 0)
    session.apply(CaseFinished(t=3.0, case=0, outcome="oom", reason="full"))
    assert (case.state, session.current, session.done) == ("oom", None, 1)
    assert later.state == "queued"


@pytest.mark.parametrize("outcome", ["ok", "oom", "skipped", "failed", "timeout", "interrupted"])
def test_ended_case_has_its_outcome_even_if_it_never_started(session: Session, outcome: Any) -> None:
    session.apply(CaseFinished(t=1.0, case=1, outcome=outcome))
    assert [case.state for case in session.cases] == ["queued", outcome]


@pytest.mark.parametrize(
    ("waits", "marks"),
    [
        (None, ()),
        (0, ()),
        (1, ("waits for the GPU 1 time per step",)),
        (3, ("waits for the GPU 3 times per step",)),
    ],
)
def test_waits_for_the_gpu_in_throughput_mode_are_a_mark(
    session: Session, waits: int | None, marks: tuple[str, ...]
) -> None:
    session.apply(CaseFinished(t=2.0, case=0, outcome="ok", work=StepCost(waits=waits)))
    assert session.cases[0].marks == marks


def test_marks_from_loading_and_end_are_merged_without_duplicates(session: Session) -> None:
    session.apply(CasePrepared(t=1.0, case=0, model=Model(name="m"), marks=("random weights", "cut text")))
    session.apply(CaseFinished(t=2.0, case=0, outcome="ok", marks=("throttled", "random weights")))
    assert session.cases[0].marks == ("random weights", "cut text", "throttled")
    assert session.cases[1].marks == ()


def test_effective_options_are_those_read_back_last(session: Session) -> None:
    before, after = Effective(compiled=False), Effective(compiled=True)
    found = []
    for event in (
        Message(t=0.0, level="info", text=""),
        CasePrepared(t=1.0, case=0, model=Model(name="m"), effective=before),
        CaseFinished(t=2.0, case=0, outcome="ok"),
        CaseFinished(t=2.0, case=0, outcome="ok", effective=after),
    ):
        session.apply(event)
        found.append(session.cases[0].effective)
    assert found == [None, before, before, after]


def test_steps_are_collected_by_phase(session: Session) -> None:
    session.apply(steps(phase="warmup", wall_ms=[9.0], tokens=[5]))
    session.apply(
        steps(
            wall_ms=[1.0, 2.0],
            device_ms=[0.5, 1.5],
            host_ms=[0.2, 0.3],
            parts_ms={"forward": [1.0, 1.0]},
            tokens=[3, 4],
        )
    )
    session.apply(steps(wall_ms=[3.0], device_ms=[2.5], host_ms=[0.4], parts_ms={"forward": [1.0]}, tokens=[5]))
    case = session.cases[0]
    assert (len(case.warmup), list(case.warmup.wall_ms), case.warmup.parts_ms) == (1, [9.0], {})
    assert len(case.measured) == 3
    assert list(case.measured.wall_ms) == [1.0, 2.0, 3.0]
    assert list(case.measured.device_ms) == [0.5, 1.5, 2.5]
    assert list(case.measured.host_ms) == [0.2, 0.3, 0.4]
    assert list(case.measured.tokens) == [3, 4, 5]
    assert {part: list(ms) for part, ms in case.measured.parts_ms.items()} == {"forward": [1.0, 1.0, 1.0]}
    assert len(session.cases[1].measured) == 0


@pytest.mark.parametrize(
    "columns",
    [
        {"device_ms": []},
        {"host_ms": []},
        {"tokens": [1, 2]},
        {"loss": []},
        {"padded_tokens": [1, 2]},
        {"parts_ms": {"a": [1.0], "b": []}},
    ],
)
def test_columns_of_unequal_length_are_rejected(session: Session, columns: dict[str, Any]) -> None:
    with pytest.raises(BenchtuiError, match=r"^case 1, steps at 2 s: columns differ in length$"):
        session.apply(steps(case=1, **columns))
    assert len(session.cases[1].measured) == 0


def test_dropping_a_round_restores_every_column() -> None:
    whole = {
        "device_ms": [0.5, 1.5],
        "host_ms": [0.2, 0.3],
        "parts_ms": {"forward": [1.0, 2.0], "result": [0.1, 0.2]},
        "tokens": [3, 4],
        "padded_tokens": [8, 8],
        "loss": [1.5, None],
    }
    dropped, kept = Columns(), Columns()
    for round_index in range(3):
        event = steps(wall_ms=[1.0, 2.0], round=round_index, **whole)
        dropped.extend(event)
        if round_index == 0:
            kept.extend(event)
    dropped.drop_from_round(1)
    for name in ("wall_ms", "device_ms", "host_ms", "parts_ms", "tokens", "padded_tokens", "rounds"):
        assert getattr(dropped, name) == getattr(kept, name), name
    assert len(dropped.loss) == 2 and dropped.loss[0] == 1.5
    dropped.drop_from_round(0)
    assert {len(dropped), len(dropped.loss), len(dropped.padded_tokens)} == {0}


@pytest.mark.parametrize("counts", [[1, 65_535], [3, 65_536, 4], [2**32, 1], [10**18]])
def test_counts_of_any_size_are_kept(counts: list[int]) -> None:
    columns = Columns()
    for count in (7, *counts, 8):
        columns.extend(steps(tokens=[count], padded_tokens=[count]))
    assert list(columns.tokens) == list(columns.padded_tokens) == [7, *counts, 8]


def test_copy_of_columns_stays_as_it_is() -> None:
    columns, copies = Columns(), list[Columns]()
    for place in range(5):
        copies.append(columns.copy())
        figures = [float(place)]
        columns.extend(
            steps(
                wall_ms=figures,
                round=place // 2,
                device_ms=figures,
                parts_ms={"f": figures},
                tokens=[place],
                loss=figures,
            )
        )
    assert [columns.of_round(round_index) for round_index in range(4)] == [2, 2, 1, 0]
    columns.drop_from_round(1)
    assert columns == copies[2] and list(map(len, copies)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("case", [-1, 2, 10**12])
def test_unplanned_case_is_rejected(session: Session, case: int) -> None:
    events: list[AnyEvent] = [
        steps(case=case),
        CaseStarted(t=1.0, case=case, config=Config(device="cpu")),
        CasePrepared(t=1.0, case=case, model=Model(name="m")),
        CaseFinished(t=1.0, case=case, outcome="ok"),
    ]
    for event in events:
        with pytest.raises(BenchtuiError, match=rf"^event for case {case}, but the session has 2 cases$"):
            session.apply(event)


def test_readings_are_collected_and_missing_ones_stay_missing(session: Session) -> None:
    session.apply(
        Telemetry(
            t=1.0,
            at_s=[0.5, 1.0],
            gpus=(GpuReadings(index=3, power_w=[70.0, None], throttle=["", "power"]),),
            host=HostReadings(cpu_percent=[None, 90.0]),
        )
    )
    assert session.machine.trace.latest("cpu_percent") == 90.0
    assert session.machine.gpus[3].latest("power_w") is None
    session.apply(Telemetry(t=2.0, at_s=[1.5, 2.0], gpus=(GpuReadings(index=3, temperature_c=[50.0, 60.0]),)))
    gpu = session.machine.gpus[3]
    assert list(gpu.at_s) == [0.5, 1.0, 1.5, 2.0]
    assert gpu.between("power_w", 0.0, 9.0) == [70.0]
    assert gpu.between("temperature_c", 1.5, 1.5) == [50.0]
    assert gpu.between("temperature_c", 9.0, 0.0) == gpu.between("fan", 0.0, 9.0) == []
    assert (gpu.latest("temperature_c"), gpu.latest("power_w"), gpu.latest("fan")) == (60.0, None, None)
    assert session.machine.trace.latest("cpu_percent") is None
    assert session.machine.gpu_readings[3].temperature_c == [50.0, 60.0]


def test_reason_for_a_missing_gpu_reading_is_kept(session: Session) -> None:
    for absent in ({"fan": "none"}, {}, {"power_w": "not supported"}):
        gpu = GpuReadings(index=0, absent=absent, power_limit_w=70.0)
        session.apply(Telemetry(t=1.0, at_s=[1.0], gpus=(gpu,)))
    assert session.machine.gpu_readings[0].absent == {"fan": "none", "power_w": "not supported"}


def test_all_columns_of_a_trace_have_the_same_length() -> None:
    trace = Trace()
    trace.extend([1.0], HostReadings(), ["cpu_percent", "memory_used_mb"])
    trace.extend([2.0, 3.0], HostReadings(cpu_percent=[5.0]), ["cpu_percent", "memory_used_mb"])
    trace.extend([4.0], HostReadings(cpu_percent=[6.0, 7.0, 8.0], memory_used_mb=[9.0]), ["cpu_percent"])
    assert list(trace.at_s) == [1.0, 2.0, 3.0, 4.0]
    assert trace.columns.keys() == {"cpu_percent"}
    column = trace.columns["cpu_percent"]
    assert [None if isnan(value) else value for value in column] == [None, 5.0, None, 6.0]


def write(path: Path, events: list[Any]) -> Path:
    path.write_text("[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n")
    return path


@pytest.fixture
def recorded(tmp_path: Path, bench: Any) -> list[Any]:
    """The events of a small file, as plain JSON."""
    journal = Journal(tmp_path / "recorded.json")
    end = {"measured_s": (0.0, 1.0), "energy": {"energy_j": 5.0, "mean_power_w": 2.0, "source": "counter"}}
    ended = msgspec.convert(
        {"event": "case_finished", "t": 1.0, "case": 0, "outcome": "ok", **end}, CaseFinished
    )
    readings = GpuReadings(index=0, power_w=[1.0], throttle=[""])
    telemetry = Telemetry(t=1.0, at_s=[0.5], gpus=(readings,), host=HostReadings(cpu_percent=[1.0]))
    case = bench.case(ms=[1.0, 2.0], outcome=None, parts={"forward": [1.0, 1.5]}, warmup_ms=[3.0])
    for event in bench.events(case, more=[telemetry, ended]):
        journal.append(event)
    journal.close()
    events: list[Any] = json.loads((tmp_path / "recorded.json").read_text())
    return events


def test_loaded_session_equals_its_applied_events(tmp_path: Path, recorded: list[Any]) -> None:
    session = Session.load(write(tmp_path / "s.json", recorded))
    assert (session.done, session.torn, session.cut_off, session.start.id) == (1, False, False, "abc")
    cut = tmp_path / "cut.json"
    cut.write_bytes((tmp_path / "s.json").read_bytes()[:-20])
    session = Session.load(cut)
    assert (session.done, session.torn, session.cut_off) == (1, True, True)


def test_inconsistent_events_are_reported_with_the_file(tmp_path: Path, recorded: list[Any]) -> None:
    with pytest.raises(BenchtuiError, match=r"s\.json: second session_started event"):
        Session.load(write(tmp_path / "s.json", [recorded[0], *recorded]))
    with pytest.raises(BenchtuiError, match=r"t\.json: event for case 0, but the session has 0 cases"):
        Session.load(write(tmp_path / "t.json", [recorded[0] | {"plan": []}, *recorded[1:]]))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything within a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*path, key)
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    changed = copy.deepcopy(value)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    return changed


@pytest.mark.parametrize(
    "hostile",
    [None, True, -1, 10**18, 10**40, -1e18, 1e308, float("nan"), "\x1b[2J|<b>", [], {}, [1.0] * 5],
    ids=repr,
)
def test_untrusted_file_is_read_or_rejected(tmp_path: Path, recorded: list[Any], hostile: Any) -> None:
    """Warnings are errors in tests, so an overflow in the metrics fails the test."""
    refused = 0
    for path in places(recorded):
        try:
            session = Session.load(write(tmp_path / "s.json", replaced(recorded, path, hostile)))
        except BenchtuiError as error:
            assert str(error).startswith(f"{tmp_path}/s.json") and "\x1b" not in str(error)
            refused += 1
        else:
            for case in session.cases:
                metrics(case)
    assert refused


def test_case_waits_between_rounds_and_a_repeated_round_counts_once(bench: Any) -> None:
    config = Config(device="cpu")
    session = bench.session(bench.case(1), finished=None)
    session.cases[0].finished = None

    def steps(round_index: int, wall_ms: list[float]) -> Steps:
        return Steps(
            t=1.0, case=0, phase="measure", round=round_index, wall_ms=wall_ms, parts_ms={"f": wall_ms}
        )

    session.apply_all(
        [CaseStarted(t=1.0, case=0, config=config), steps(0, [1.0, 2.0]), RoundFinished(t=2.0, case=0, round=0)]
    )
    case = session.cases[0]
    assert (case.state, session.current) == ("queued", None)
    session.apply_all(
        [
            CaseStarted(t=3.0, case=0, round=1, config=config),
            steps(1, [9.0, 9.0, 9.0]),
            CaseRepeated(t=4.0, case=0, round=1, reason="throttled: sw_thermal", pause_s=5.0),
            CaseStarted(t=9.0, case=0, round=1, config=config),
            steps(1, [3.0]),
        ]
    )
    assert (case.state, session.current) == ("running", case)
    assert list(case.measured.wall_ms) == list(case.measured.parts_ms["f"]) == [1.0, 2.0, 3.0]
    assert [list(each) for each in case.measured.by_round()] == [[1.0, 2.0], [3.0]]
    assert [each.reason for each in case.repeated] == ["throttled: sw_thermal"]


def starts(*cases: int) -> list[AnyEvent]:
    return [CaseStarted(t=1.0, case=case, config=Config(device="cpu")) for case in cases]


def added(case: int, **fields: Any) -> CaseAdded:
    given = {"t": 1.0, "case": case, "config": Config(device="cpu"), "why": "added by the user"} | fields
    return CaseAdded(**given)


def numbers(session: Session) -> list[int]:
    return [case.index for case in session.pending]


def test_newest_of_several_running_cases_is_the_current_one(bench: Any) -> None:
    session = bench.session(*(bench.case(size, outcome="skipped") for size in range(1, 4)), finished=None)
    for case in session.cases:
        case.finished = None
    assert (session.running, numbers(session)) == ([], [0, 1, 2])
    session.apply_all(starts(2, 0))
    assert ([case.index for case in session.running], numbers(session)) == ([2, 0], [1])
    assert session.current is session.cases[0]
    session.apply_all(starts(2))
    assert [case.index for case in session.running] == [2, 0], "a case that is repeated never stopped running"
    session.apply(CaseFinished(t=2.0, case=0, outcome="ok"))
    assert session.current is session.cases[2]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (added(3), "case 3 added out of order; the next one is case 2"),
        (added(1), "case 1 added out of order; the next one is case 2"),
        (added(2, of=2), "event for case 2, but the session has 2 cases"),
        (added(2, after=-1), "event for case -1, but the session has 2 cases"),
        (OrderChanged(t=1.0, cases=(0, 7)), "event for case 7, but the session has 2 cases"),
    ],
)
def test_impossible_queue_change_is_rejected(session: Session, event: AnyEvent, expected: str) -> None:
    with pytest.raises(BenchtuiError, match=expected):
        session.apply(event)
    assert len(session.cases) == 2 and numbers(session) == [0, 1]


def test_number_of_cases_is_limited(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MOST_CASES", 2)
    with pytest.raises(BenchtuiError, match="more than 2 cases"):
        session.apply(added(2))


def test_pending_cases_follow_the_latest_order_and_the_rounds(session: Session) -> None:
    session.apply(added(2))
    session.apply(OrderChanged(t=1.0, cases=(2, 0, 1)))
    assert numbers(session) == [2, 0, 1]
    for case in (2, 0):
        session.apply_all([*starts(case), RoundFinished(t=2.0, case=case, round=0)])
    assert numbers(session) == [1, 0, 2]


@pytest.mark.parametrize(
    ("device", "memory", "peak", "on_device"),
    [
        ("cpu", Memory(peak_rss_mb=5.0, peak_allocated_mb=9.0), 5.0, None),
        ("cuda:0", Memory(peak_rss_mb=50.0, peak_allocated_mb=7.0), 7.0, 7.0),
        ("cuda:0", Memory(peak_allocated_mb=7.0, peak_reserved_mb=8.0, peak_device_mb=6.0), 8.0, 8.0),
        ("cuda:0", Memory(peak_rss_mb=50.0), None, None),
        ("unknown", Memory(peak_rss_mb=50.0), 50.0, None),
        ("unknown", Memory(peak_rss_mb=50.0, peak_allocated_mb=7.0), 7.0, 7.0),
        ("cuda:0", None, None, None),
    ],
)
def test_peak_memory_is_the_highest_reading(
    device: str, memory: Memory | None, peak: float | None, on_device: float | None
) -> None:
    end = CaseFinished(t=1.0, case=0, outcome="ok", memory=memory)
    case = CaseState(0, Config(device=device), finished=end)
    assert (case.peak_memory_mb, case.device_memory_mb) == (peak, on_device)


FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize("name", ["comprehensive-report.json", "quick-cpu.json"])
def test_metrics_and_report_are_the_same_without_the_steps(name: str) -> None:
    """Replacing steps by their metrics loses nothing in the report."""
    whole, summed = Session.load(FIXTURES / name), Session.load(FIXTURES / name, metrics)
    assert [metrics(case) for case in summed.cases] == [metrics(case) for case in whole.cases]
    assert markdown(summed) == markdown(whole)
    assert as_json(summed) == as_json(whole)
    assert not any(len(case.measured) for case in summed.cases if case.state == "ok")


def test_gpu_of_a_case_is_found_by_uuid_or_as_the_only_one(bench: Any) -> None:
    """``cuda:0`` is torch's number: with the first GPU hidden it is the driver's GPU 1."""
    cases = [
        bench.case(1, 1.0, device="cuda:0", prepared={"gpu_uuid": "GPU-b"}),
        bench.case(2, 1.0, device="cuda:0"),
        bench.case(1, 1.0, device="cpu"),
    ]
    gpus = (Gpu(index=0, name="a", uuid="GPU-a"), Gpu(index=1, name="b", uuid="GPU-b"))
    session = bench.session(*cases, host=Host(gpus=gpus))
    named, unnamed, cpu = session.cases
    for readings, expected in (((), None), ((3,), 3), ((0, 1), None)):
        session.machine.gpus = {index: Trace() for index in readings}
        assert [session.gpu_of(case) for case in (named, unnamed, cpu)] == [1, expected, None]


def test_late_comparison_reaches_an_ended_case(session: Session) -> None:
    session.apply(CaseFinished(t=2.0, case=1, outcome="ok"))
    before, found = session.cases[1], AnswerComparison(case=1, baseline=0, verdict="close")
    session.apply(Answered(t=3.0, case=0, comparisons=(found,)))
    assert session.cases[1].comparison == found and before.comparison is None
    assert session.answer_baselines == {0}


def test_restarted_case_loses_its_answer(session: Session) -> None:
    found = AnswerComparison(case=1, baseline=0, verdict="close")
    session.apply(Answered(t=3.0, case=1, comparisons=(found,)))
    session.apply(Resumed(t=4.0, created="", host=Host(), cases=(1,)))
    assert session.cases[1].answered is session.cases[1].comparison is None


def one_planned_case() -> Session:
    session, host = Session(), Host(platform="")
    sweep, plan = Sweep(name="s", model="m"), (Config(device="cpu"),)
    session.apply(SessionStarted(t=0.0, id="a", created="", sweep=sweep, plan=plan, host=host))
    return session


def test_settled_case_ended_with_its_last_round() -> None:
    """The event that ends it follows once no case needs further rounds, which is no time of this case."""
    session = one_planned_case()
    session.apply(CaseStarted(t=1.0, case=0, config=session.cases[0].config))
    session.apply(Steps(t=2.0, case=0, phase="measure", wall_ms=[10.0]))
    session.apply(RoundFinished(t=3.0, case=0, round=0))
    session.apply(CaseFinished(t=90.0, case=0, outcome="ok", not_measured_further="2.1x slower, sure"))
    assert ([end.t for end in session.cases[0].ends], session.now_s) == ([3.0], 90.0)


def test_settled_case_without_a_round_ends_with_its_event() -> None:
    session = one_planned_case()
    session.apply(CaseFinished(t=90.0, case=0, outcome="ok", not_measured_further="sure"))
    assert [end.t for end in session.cases[0].ends] == [90.0]

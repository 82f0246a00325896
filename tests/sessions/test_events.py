import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtui.sessions.events import (
    SCHEMA,
    Answered,
    AnyEvent,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Continued,
    Explained,
    Idle,
    Message,
    NodeJoined,
    NodeLost,
    OrderChanged,
    Paused,
    Peaks,
    Resumed,
    RoundFinished,
    RoundsPlanned,
    Runtime,
    SessionFinished,
    SessionStarted,
    SettledCase,
    Steps,
    Telemetry,
    Waiting,
)
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import (
    FILE_NAMES,
    Answer,
    AnswerComparison,
    Compiling,
    Data,
    Effective,
    Energy,
    Environment,
    Gpu,
    GpuReadings,
    Host,
    HostReadings,
    Memory,
    Model,
    Neighbor,
    Reported,
    StepCost,
)
from benchtui.sessions.profiles import FamilyTime, GraphBreak, KernelTime, MemoryKinds, Recompile, StepProfile
from benchtui.sessions.sweep import Axes, Baseline, Config, Measure, Sweep

CONFIG = Config(device="cuda:0", precision="amp-fp16", batch_size=8, attention="sdpa", compile="default")
FULL: tuple[AnyEvent, ...] = (
    SessionStarted(
        t=0.0,
        id="5b99b6e42f48",
        created="2026-11-21T02:34:15Z",
        sweep=Sweep(
            name="s",
            model="m",
            axes=Axes(batch_size=(1, 8)),
            measure=Measure(until_percent=1.0, max_time_s=60.0, baseline=Baseline(batch_size=1)),
        ),
        plan=(CONFIG, Config(device="cpu")),
        host=Host(
            hostname="h",
            cpu_count=2,
            memory_mb=25276.5,
            gpus=(Gpu(index=0, name="T4", uuid="GPU-1", memory_mb=16e3, power_limit_w=70.0),),
            packages={"torch": "2.9"},
            absent={"rapl": "no energy counters"},
        ),
        version="0.1.0",
    ),
    Runtime(t=1.0, torch="2.9", cuda="12.8", cudnn=91002, threads=2, cuda_devices=("T4",)),
    Idle(
        t=1.5,
        window_s=2.0,
        power_w={"gpu 0": 70.0, "processor": 12.5},
        others_cpu_percent=98.0,
        steal_percent=1.0,
        run_delay_percent=0.5,
        gpu_processes={"gpu 0": 1},
        neighbors=(Neighbor(name="python3", user="alice", cpu_percent=97.0),),
    ),
    Peaks(
        t=1.9,
        device="cpu",
        precision="bf16",
        threads=2,
        flops_per_s=1e12,
        how={"flops": "product"},
        absent={"bytes": "no memory"},
    ),
    CaseStarted(t=2.0, case=0, round=1, config=CONFIG, pid=77),
    CasePrepared(
        t=3.0,
        case=0,
        model=Model(name="m", architecture="A", parameters=66_955_010, weights="random", source="bundled"),
        data=Data(dataset="sample", samples=100, tokenizer="t"),
        effective=Effective(
            weights_dtype="float32", autocast_dtype="float16", compiled=True, threads=2, padding="longest"
        ),
        marks=("random weights",),
        load_s=0.5,
        samples_per_step=16,
        new_tokens=32,
        gpu_uuid="GPU-1",
    ),
    Steps(
        t=4.0,
        case=0,
        phase="measure",
        round=2,
        wall_ms=[2.0, 2.5],
        device_ms=[1.5, 2.0],
        host_ms=[0.5, 0.75],
        parts_ms={"tokenize": [0.5, 0.5], "forward": [1.5, 2.0]},
        tokens=[512, 480],
        padded_tokens=[512, 512],
        loss=[10.5, None],
    ),
    Telemetry(
        t=5.0,
        at_s=[4.5, 5.0],
        gpus=(
            GpuReadings(
                index=0,
                power_w=[70.0, None],
                power_limit_w=70.0,
                memory_used_mb=[500.0, 500.0],
                memory_total_mb=16e3,
                utilization_percent=[99.0, None],
                temperature_c=[-5.0, None],
                graphics_clock_mhz=[1590.0, None],
                throttle=["", "power+thermal"],
                energy_j=[1e6, None],
                absent={"fan": "not supported"},
            ),
        ),
        host=HostReadings(
            cpu_percent=[None, 195.5], worker_rss_mb=[None, 700.0], engine_cpu_percent=[0.2, 0.2]
        ),
    ),
    RoundFinished(
        t=5.5,
        case=0,
        round=1,
        measured_s=(3.5, 5.5),
        stop="20 steps",
        warmup_stop="5 steps",
        memory=Memory(peak_rss_mb=4.0),
        energy=Energy(absent="too short"),
        environment=Environment(
            worker_cpu=1.5,
            involuntary_switches=7,
            others_cpu_percent=63.0,
            processors=2,
            load_average=1.5,
            graphics_clock_mhz=1590.0,
            throttle=("sw_thermal",),
            beside=3,
            gpu_processes=1,
        ),
        compiling=Compiling(graphs=2, graph_breaks=1, recompiles=1, unsteady=(3,)),
        marks=("throttled: sw_thermal",),
    ),
    CaseAdded(t=5.5, case=4, config=Config(device="cpu"), why="round_trip", of=0, after=0),
    OrderChanged(t=5.5, cases=(4, 1)),
    Paused(t=5.5),
    Continued(t=5.5),
    Answered(
        t=5.6,
        case=0,
        answer=Answer(kind="logits", amount=128, digest="0123456789abcdef"),
        absent="too long",
        comparisons=(
            AnswerComparison(
                case=0,
                baseline=1,
                verdict="close",
                kl_mean=1e-4,
                kl_p99=2e-4,
                top1_agreement=1.0,
                sqnr_db=40.0,
                largest_difference=0.5,
                cosine=0.99,
                equal_tokens=0.9,
                first_difference=7,
                loss_difference=0.01,
                change_difference=0.2,
                gradient_difference=0.1,
                trained_share=0.9,
                absent="other shape",
            ),
        ),
    ),
    Explained(
        t=5.6,
        case=0,
        created="2026-11-23T10:00:00Z",
        profile=StepProfile(
            steps=3,
            step_ms=10.0,
            plain_steps=6,
            plain_ms=9.0,
            families=(FamilyTime(family="matmul", ms=10.0, launches=4.0),),
            kernels=(
                KernelTime(
                    name="gemm",
                    family="matmul",
                    count=4.0,
                    ms=9.0,
                    shape="4x8 float",
                    operator="aten::mm",
                    flops=1e9,
                    bytes=1e6,
                ),
            ),
            parts_ms={"forward": 9.0},
            launches=4.0,
            busy_ms=9.0,
            idle_ms={"python": 1.0},
            launching_ms=0.1,
            threads=2,
            processors=4,
            busy_cpus=1.5,
            graph_breaks=(GraphBreak(reason="branch", where="a.py:1", count=2),),
            recompiles=(Recompile(guard="size mismatch", where="f in a.py:1", count=2),),
            memory=MemoryKinds(
                weights_mb=1.0,
                gradients_mb=1.0,
                optimizer_mb=2.0,
                cache_mb=0.5,
                activations_mb=3.0,
                workspace_mb=0.1,
                growth_mb=0.2,
                absent={"workspace": "unknown"},
            ),
            versions={"torch": "2.9"},
            absent={"memory": "too large"},
        ),
        absent="none",
        changed=("Python: 3.11 → 3.12",),
    ),
    RoundsPlanned(
        t=5.4,
        cases=(1, 0),
        open_questions=2,
        spent_s=3.0,
        budget_s=60.0,
        settled=(SettledCase(case=2, reason="2.1x slower, sure"),),
    ),
    Waiting(t=5.5, case=0, round=1, reason="waiting for quiet", most_s=60.0),
    CaseRepeated(t=5.6, case=0, round=1, reason="throttled: sw_thermal", pause_s=5.0),
    CaseFinished(
        t=6.0,
        case=0,
        outcome="failed",
        reason="killed",
        signal="SIGKILL",
        exit_code=-9,
        stderr_line="Killed",
        measured_s=(3.5, 5.5),
        stop="20 steps",
        memory=Memory(
            peak_allocated_mb=1.0, peak_reserved_mb=2.0, peak_device_mb=3.0, peak_rss_mb=4.0, kv_cache_mb=5.0
        ),
        energy=Energy(energy_j=140.0, mean_power_w=70.0, source="counter", dram_j=3.0),
        marks=("throttled",),
        effective=Effective(compiled=True),
        work=StepCost(flops=1e10, bytes_moved=2e9, bytes_of_weights=1e9, busy_ms=1.5, absent={"busy": "n"}),
        reported=Reported(steps=20, latency_mean_ms=2.0, samples_per_s=500.0),
    ),
    Resumed(
        t=6.0,
        created="2026-11-21T09:34:15Z",
        version="0.1.0",
        host=Host(hostname="other"),
        changed=("Host: h → other",),
        cases=(0, 1),
    ),
    NodeJoined(
        t=6.0,
        node="n1",
        host=Host(hostname="n1"),
        kind="H100",
        labels={"zone": "a"},
        resources={"GPU": 8.0},
        clock_offset_s=-12.5,
    ),
    NodeLost(t=6.0, node="n1", reason="gone"),
    Message(t=6.0, level="warning", text="“odd” \x1b[31m"),
    SessionFinished(t=7.0, outcome="interrupted", reason="stopped by SIGTERM"),
)

text = st.text(st.characters(exclude_categories=["Cs"]))
times_ms = st.floats(0, 1e18)


def round_trip(event: AnyEvent) -> AnyEvent:
    found: AnyEvent = msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent)
    return found


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.schema(list[AnyEvent])["$defs"][kind.__name__]
    return found


def test_every_event_has_an_example() -> None:
    assert {type(event) for event in FULL} == set(AnyEvent.__args__)


@given(st.data())
def test_any_steps_survive_a_round_trip(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 5))

    def column(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(values, min_size=n, max_size=n)

    steps = st.builds(
        Steps,
        t=st.floats(0, 1e9),
        case=st.integers(0, 10**18),
        phase=st.sampled_from(["warmup", "measure"]),
        wall_ms=column(times_ms),
        device_ms=st.none() | column(times_ms),
        host_ms=st.none() | column(times_ms),
        parts_ms=st.dictionaries(text, column(times_ms), max_size=3),
        tokens=st.none() | column(st.integers(0, 10**18)),
    )
    event = data.draw(steps)
    assert round_trip(event) == event


@given(text, text)
def test_any_text_survives_a_round_trip(reason: str, line: str) -> None:
    event = CaseFinished(t=0.0, case=0, outcome="failed", reason=reason, stderr_line=line)
    assert round_trip(event) == event
    assert b"\n" not in msgspec.json.encode(event)


def test_file_contains_its_schema_version() -> None:
    assert json.loads(msgspec.json.encode(FULL[0]))["schema"] == SCHEMA == 3


def test_case_lists_all_options_and_steps_their_round() -> None:
    started = json.loads(msgspec.json.encode(CaseStarted(t=0.0, case=0, config=Config(device="cpu"))))
    assert started["config"].keys() == set(Config.__struct_fields__)
    steps = json.loads(msgspec.json.encode(Steps(t=0.0, case=0, phase="warmup", wall_ms=[])))
    assert (steps["phase"], steps["round"]) == ("warmup", 0)


def test_journal_follows_the_schema(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "s.json")
    for event in FULL:
        journal.append(event)
    journal.close()
    schema = msgspec.json.schema(list[AnyEvent])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads((tmp_path / "s.json").read_text()), schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {"event": "steps", "t": 0.0, "case": 0, "phase": "cool-down", "wall_ms": []},
        {"event": "steps", "t": 0.0, "case": 0, "phase": "measure", "wall_ms": [-1.0]},
        {"event": "steps", "t": 0.0, "phase": "measure", "wall_ms": []},
        {"event": "case_finished", "t": 0.0, "case": 0, "outcome": "lost"},
        {"event": "message", "t": "now", "level": "info", "text": ""},
        {"t": 0.0},
    ],
)
def test_schema_rejects_what_the_reader_rejects(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([wrong], msgspec.json.schema(list[AnyEvent]))
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(wrong), type=AnyEvent)


@pytest.mark.parametrize("kind", AnyEvent.__args__)
def test_schema_describes_every_event_and_field(kind: type[msgspec.Struct]) -> None:
    schema = schema_of(kind)
    assert schema["properties"].keys() == {"event", *kind.__struct_fields__}
    assert schema["properties"]["event"]["enum"] == [kind.__struct_config__.tag]
    assert schema["description"] == (kind.__doc__ or "").strip()
    assert {"$ref": f"#/$defs/{kind.__name__}"} in msgspec.json.schema(list[AnyEvent])["items"]["anyOf"]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"event":"message","t":-1,"level":"info","text":""}', r"\$\.t"),
        ('{"event":"message","t":1e300,"level":"info","text":""}', r"\$\.t"),
        ('{"event":"steps","t":0,"case":99999999999999999999,"phase":"measure","wall_ms":[]}', r"\$\.case"),
        ('{"event":"steps","t":0,"case":0,"phase":"measure","wall_ms":[1e300]}', r"\$\.wall_ms\[0\]"),
        ('{"event":"steps","t":0,"case":0,"phase":"measure","wall_ms":[1],"tokens":[1e2]}', r"\$\.tokens\[0\]"),
        (
            '{"event":"case_started","t":0,"case":0,"config":{"device":"cpu","batch_size":0}}',
            r"config\.batch_size",
        ),
    ],
)
def test_out_of_range_numbers_are_rejected_naming_the_field(line: str, field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.json.decode(line, type=AnyEvent)


OLD_READINGS = (
    b'{"index":0,"utilisation_percent":[90.0],"absent":{"utilisation_percent":"late","sm_clock_mhz":"no"}}'
)


def test_older_spelling_of_utilization_is_read_and_no_longer_written() -> None:
    readings = msgspec.json.decode(OLD_READINGS, type=GpuReadings)
    assert readings.utilization_percent == [90.0]
    assert readings.reasons == {"utilization_percent": "late", "graphics_clock_mhz": "no"}
    written = json.loads(msgspec.json.encode(readings))
    assert written["utilization_percent"] == [90.0] and "utilisation_percent" not in written


def test_readings_of_gpus_keep_their_names_in_files() -> None:
    names = {
        "graphics_clock_mhz": "sm_clock_mhz",
        "graphics_clock_least_mhz": "sm_clock_least_mhz",
        "graphics_clock_default_mhz": "sm_clock_default_mhz",
        "graphics_clock_default_is_highest": "sm_clock_default_is_highest",
        "graphics_clock_best_mhz": "sm_clock_best_mhz",
        "compute_active_percent": "sm_active_percent",
        "occupancy_percent": "sm_occupancy_percent",
        "link_rx_mb_per_s": "nvlink_rx_mb_per_s",
        "link_tx_mb_per_s": "nvlink_tx_mb_per_s",
    }
    assert {name: written for name, written in FILE_NAMES.items() if name != written} == names
    gpu = Gpu(index=0, name="A", graphics_clock_mhz=2.0, graphics_clock_is_highest=True)
    assert json.loads(msgspec.json.encode(gpu)) == {
        "index": 0,
        "name": "A",
        "sm_clock_mhz": 2.0,
        "sm_clock_is_highest": True,
    }

"""Files that are well, for the fuzzer to break: a session of all events, sweeps, settings, themes, imports."""

from pathlib import Path

import msgspec

from benchtui.sessions.events import (
    Answered,
    AnyEvent,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Continued,
    Idle,
    Message,
    NodeJoined,
    NodeLost,
    OrderChanged,
    Paused,
    Peaks,
    RoundFinished,
    Runtime,
    SessionFinished,
    SessionStarted,
    Steps,
    Telemetry,
    Waiting,
)
from benchtui.sessions.payloads import (
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
    StepCost,
)
from benchtui.sessions.sweep import Axes, Baseline, Config, Measure, Sweep

FIXTURES = Path(__file__).parents[2] / "fixtures"
PRESETS = Path(__file__).parents[3] / "sessions" / "sweep" / "presets"
TIMES_MS = [10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8, 10.0, 10.1, 30.0] * 3
CARDS = tuple(Gpu(index=index, name="T4", uuid=f"GPU-{index}", memory_mb=16e3) for index in range(2))
PLAN = tuple(
    Config(device=device, precision=precision, batch_size=size, compile=mode)
    for device, precision, size, mode in (
        ("cuda:0", "fp32", 1, "off"),
        ("cuda:0", "amp-fp16", 8, "default"),
        ("cpu", "fp32", 1, "off"),
    )
)


def session() -> list[AnyEvent]:
    """Every event there is: rounds, a repetition, an added case, an order, a pause, GPUs here and on a node."""
    rules = Measure(rounds=2, baseline=Baseline(batch_size=1), until_percent=1.0)
    started = SessionStarted(
        t=0.0,
        id="5b99b6e42f48",
        created="2026-11-21T02:34:15Z",
        sweep=Sweep(name="s", model="m", axes=Axes(batch_size=(1, 8)), measure=rules, env={"A": "b"}),
        plan=PLAN,
        host=Host(
            hostname="h",
            cpu_count=2,
            memory_mb=25276.5,
            gpus=CARDS,
            packages={"torch": "2.9"},
            absent={"rapl": "no energy counters"},
        ),
        version="0.1.0",
    )
    return [
        started,
        Runtime(t=1.0, torch="2.9", cuda="12.8", threads=2, cuda_devices=("T4", "T4")),
        Idle(t=1.2, window_s=1.25, power_w={"gpu 0": 70.0}),
        Peaks(t=1.5, device="cuda:0", precision="fp32", flops_per_s=1e12, bytes_per_s=3e11, how={"flops": "x"}),
        NodeJoined(
            t=1.6,
            node="n1",
            host=Host(hostname="n1"),
            kind="T4",
            labels={"zone": "a"},
            resources={"GPU": 2.0},
            clock_offset_s=-7.5,
        ),
        Runtime(t=1.7, torch="2.9", node="n1"),
        Telemetry(t=1.8, at_s=[1.7], host=HostReadings(cpu_percent=[1.0]), node="n1"),
        NodeLost(t=1.9, node="n1", reason="gone"),
        NodeJoined(t=1.9, node="n2", host=Host(hostname="n2", gpus=CARDS), kind="T4", clock_offset_s=0.5),
        *(
            Telemetry(t=at_s, at_s=[at_s], gpus=(GpuReadings(index=index, power_w=[70.0]),), node="n2")
            for index, at_s in enumerate((1.91, 1.92))
        ),
        *_round(0, 0, 2.0),
        RoundFinished(t=4.0, case=0, round=0, measured_s=(3.0, 4.0), memory=Memory(peak_allocated_mb=700.0)),
        CaseAdded(t=4.1, case=3, config=PLAN[2], why="again", of=2),
        OrderChanged(t=4.2, cases=(2, 1, 3)),
        Paused(t=4.3),
        Continued(t=4.4),
        *_round(1, 0, 5.0),
        Waiting(t=6.0, case=1, round=0, reason="waiting for quiet", most_s=60.0),
        CaseRepeated(t=7.0, case=1, round=0, reason="throttled", pause_s=5.0),
        *_round(1, 0, 8.0),
        Answered(
            t=9.9,
            case=1,
            answer=Answer(kind="logits", amount=128, digest="0f"),
            comparisons=(AnswerComparison(case=1, baseline=0, verdict="close", kl_mean=4e-4, sqnr_db=40.0),),
        ),
        _end(1, 10.0),
        *_round(0, 1, 11.0),
        _end(0, 13.0),
        CaseFinished(
            t=14.0, case=2, outcome="failed", reason="ValueError: no", signal="SIGKILL", stderr_line="e"
        ),
        Message(t=14.5, level="warning", text="a word"),
        CaseFinished(t=15.0, case=3, outcome="skipped", reason="dropped by the user"),
        SessionFinished(t=16.0, outcome="completed"),
    ]


def _round(case: int, turn: int, t: float) -> list[AnyEvent]:
    parts = {"tokenize": [0.5] * len(TIMES_MS), "forward": [1.5] * len(TIMES_MS)}
    steps = Steps(
        t=t + 1.5,
        case=case,
        phase="measure",
        round=turn,
        wall_ms=TIMES_MS,
        device_ms=TIMES_MS,
        host_ms=TIMES_MS,
        parts_ms=parts,
        tokens=[512] * len(TIMES_MS),
        loss=[1.0] * len(TIMES_MS),
    )
    four = [t + quarter / 4 for quarter in range(4)]
    readings = [
        GpuReadings(index=index, power_w=[300.0] * 4, throttle=["", "sw_thermal", "", ""], energy_j=four)
        for index in range(2)
    ]
    return [
        CaseStarted(t=t, case=case, round=turn, config=PLAN[case], pid=77),
        CasePrepared(
            t=t + 0.5,
            case=case,
            model=Model(name="m", architecture="A", parameters=66_955_010, weights="random", source="hub"),
            data=Data(dataset="sample", samples=100, tokenizer="t"),
            effective=Effective(weights_dtype="float32", attention="sdpa", compiled=True, threads=2),
            marks=("random weights",),
            samples_per_step=8,
            gpu_uuid="GPU-0",
        ),
        Steps(t=t + 1.0, case=case, phase="warmup", round=turn, wall_ms=[99.0, 12.0]),
        steps,
        Telemetry(t=t + 1.6, at_s=four, gpus=tuple(readings), host=HostReadings(cpu_percent=[100.0] * 4)),
    ]


def _end(case: int, t: float) -> CaseFinished:
    return CaseFinished(
        t=t,
        case=case,
        outcome="ok",
        measured_s=(t - 1.0, t),
        stop="30 steps",
        memory=Memory(peak_allocated_mb=700.0, peak_device_mb=800.0, peak_rss_mb=1600.0),
        energy=Energy(energy_j=50.0, mean_power_w=210.0, source="counter"),
        environment=Environment(worker_cpu=1.0, others_cpu_percent=3.0, throttle=("sw_thermal",)),
        compiling=Compiling(graphs=1, graph_breaks=0, recompiles=0, unsteady=(3,)),
        work=StepCost(flops=1e9, bytes_moved=1e8, busy_ms=8.0),
        marks=("throttled: sw_thermal",),
    )


def written(events: list[AnyEvent]) -> bytes:
    """Events as the engine writes them."""
    return b"[\n" + b",\n".join(map(msgspec.json.encode, events)) + b"\n]\n"


SWEEP = b"""
name = "s"
model = "m"
task = "lm-train"
dataset = "synthetic"
[axes]
device = ["cpu", "cuda:*"]
precision = ["fp32", "amp-fp16"]
batch_size = "1..64*2"
sequence_length = [16, 32]
threads = "0,1"
[measure]
warmup = "auto"
iterations = 20
until = "1%"
max_time = "1h30m"
rounds = 3
baseline = { precision = "fp32", batch_size = 1 }
[train]
learning_rate = 5e-5
[env]
OMP_NUM_THREADS = 2
[[exclude]]
device = "cpu"
batch_size = 64
"""
SETTINGS = b"""
theme = "high-contrast"
hz = 4
columns = ["p50", "rate"]
sort = "-p50"
quiet = "auto"
[keys]
"app.theme" = "f2,ctrl+t"
"""
THEME = b"""
dark = true
ansi = false
[colors]
background = "#101010"
accent = "#ff8800"
lines = ["#112233", "#445566"]
"""


def fixture(name: str) -> bytes:
    """A recorded file."""
    return (FIXTURES / name).read_bytes()


IMPORTS = (
    fixture("optimum-benchmark.json"),
    fixture("gpt2-training-results.csv"),
    b'{"results":[{"command":"sleep 0.02","mean":0.021,"times":[0.0205,0.021],"memory_usage_byte":[3600000,37],'
    b'"exit_codes":[0,0]},{"command":"sleep 0.03","mean":0.031,"times":[0.03,0.032],"exit_codes":[0,1]}]}',
    b'[{"backends":"CUDA","model_filename":"q.gguf","model_type":"qwen2 7B","model_n_params":7615616512,'
    b'"cpu_info":"P","n_threads":8,"n_gpu_layers":-1,"n_batch":2048,"n_prompt":512,"n_gen":0,"avg_ns":72000000,'
    b'"avg_ts":7100.0,"samples_ns":[71000000,73000000]}]',
    b'{"device":"cuda","batch_size":8,"mixed_precision":true,"latency_ms_mean":15.45,"throughput_mean":517.79,'
    b'"cpu_memory_mb_max":1601.3,"gpu_memory_mb_max":746.88,"sequence_length":128}\n'
    b'{"device":"cpu","batch_size":16,"latency_ms_mean":25.45,"precision":"fp32"}\n',
    fixture("gpt2-optimizers.csv"),
    fixture("batch-sweep-precisions.csv"),
    *map(fixture, ("nvbench.json", "guidellm.json", "aiperf.json", "vllm-bench.jsonl")),
)
SESSIONS = (written(session()), fixture("comprehensive-report.json"))
SWEEPS = (SWEEP, *(path.read_bytes() for path in sorted(PRESETS.glob("*.toml"))))

"""Simulation of one attempt of a case: its process, its steps, and its end as the engine would record it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from statistics import median

from simulated import llama
from simulated.box import CPUS, Box
from simulated.gpus import Load
from simulated.incidents import Incident
from simulated.llama import BOOST_MHZ, MEMORY_MB
from simulated.steps import DrawnStep, StepTimes

from benchtui.engine.node.energy import gpu_energy
from benchtui.engine.worker.warmup import steps_reason, warmed_up
from benchtui.sessions.events import AnyEvent, CaseFinished, CasePrepared, CaseStarted, Phase, Steps
from benchtui.sessions.payloads import Compiling, Data, Effective, Environment, Memory, StepCost
from benchtui.sessions.stats.disturbance import disturbances
from benchtui.sessions.sweep import Config, Sweep

REPORT_S = 0.5
"""Seconds of steps per event."""
START_S, LOAD_S, END_S = 0.35, 1.3, 0.25
FIRST_STEP_MS, COMPILE_MS = 310.0, 6_400.0
"""What the very first step takes beyond a steady one: libraries that load, and torch.compile."""
RESERVED = 1.04
"""Memory that the allocator reserves, over what it hands out."""
MARKS = ("random weights",)


@dataclass(frozen=True, slots=True)
class Simulation:
    """What all cases of a simulated session share."""

    box: Box
    sweep: Sweep
    configs: tuple[Config, ...]
    random: Random
    emit: Callable[[AnyEvent], None]


@dataclass(slots=True)
class Rows:
    """Columns of steps that aren't recorded yet."""

    wall_ms: list[float] = field(default_factory=list)
    device_ms: list[float] = field(default_factory=list)
    host_ms: list[float] = field(default_factory=list)
    parts_ms: dict[str, list[float]] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)
    padded_tokens: list[int] = field(default_factory=list)


class CaseRun:
    """One attempt of one round of a case."""

    def __init__(self, simulation: Simulation, case: int, round_index: int, trouble: Incident) -> None:
        self._box, self._sweep = simulation.box, simulation.sweep
        self._random, self._emit = simulation.random, simulation.emit
        self._case, self._config = case, simulation.configs[case]
        self._round, self._trouble = round_index, trouble
        self._new_tokens = self._sweep.generate.new_tokens if self._sweep.task == "generate" else 0
        self._step = (
            llama.generation(self._config, self._new_tokens) if self._new_tokens else llama.step(self._config)
        )
        self._rules = self._sweep.measure.for_device(self._config.device)
        pace = self._random.gauss(1.0, 0.003)
        self._times = StepTimes(self._step, self._config, trouble, self._random, pace)
        self._rows = Rows()
        self._reported_s = 0.0

    def run(self) -> CaseFinished:
        """Run the attempt; return its end, which isn't recorded yet."""
        box = self._box
        self._emit(CaseStarted(t=self._now, case=self._case, round=self._round, config=self._config))
        self._begin()
        if self._step.allocated_mb + llama.CONTEXT_MB > MEMORY_MB:
            return self._out_of_memory()
        warmup_stop = self._warm_up()
        begin_s = box.now_s
        stop, measured_ms = self._measure()
        end_s = box.now_s
        box.gpu.load = Load(memory_mb=self._used_mb)
        box.advance(END_S)
        box.flush()
        end = self._ended(begin_s, end_s, stop, warmup_stop, measured_ms)
        self._leave()
        return end

    @property
    def _now(self) -> float:
        return round(self._box.now_s, 4)

    @property
    def _used_mb(self) -> float:
        """Peak memory of the process on the GPU, as the driver sees it."""
        return RESERVED * self._step.allocated_mb + llama.CONTEXT_MB

    def _begin(self) -> None:
        """Start the process and load the model."""
        box = self._box
        box.window.drop_before(box.now_s)
        box.gpu.blocked = self._trouble.blocked_airflow
        box.host.others = 18.0 + self._trouble.others_cpu_percent
        box.host.rss_mb, box.host.worker = 900.0, 100.0
        box.advance(START_S)
        box.host.rss_mb, box.host.worker = 3_480.0, 260.0
        load_s = self._random.gauss(LOAD_S, 0.06)
        box.advance(load_s)
        self._emit(self._prepared(load_s))
        self._reported_s = box.now_s

    def _leave(self) -> None:
        """End the process."""
        self._box.gpu.load, self._box.gpu.blocked = Load(), False
        self._box.host.rss_mb, self._box.host.worker, self._box.host.others = None, 0.0, 18.0

    def _out_of_memory(self) -> CaseFinished:
        box, largest_gib = self._box, self._step.largest_mb * 1e6 / 2**30
        total_gib = MEMORY_MB * 1e6 / 2**30
        used_mb = min(self._used_mb - self._step.largest_mb, MEMORY_MB - 400)
        box.gpu.load = Load(dynamic_w=300.0, busy=0.6, memory_mb=used_mb)
        box.advance(0.7)
        box.flush()
        self._leave()
        free_gib = total_gib - used_mb * 1e6 / 2**30
        tried = f"tried to allocate {largest_gib:.2f} GiB, {free_gib:.2f} GiB of {total_gib:.2f} GiB free"
        reason = f"out of memory on {self._config.device}: {tried}"
        return CaseFinished(t=self._now, case=self._case, outcome="oom", reason=reason, marks=MARKS)

    def _warm_up(self) -> str:
        times_ms: list[float] = []
        missing_ms = 1000 * (self._rules.min_warmup_s or 0.0)
        while (stop := warmed_up(times_ms, self._rules, missing_ms)) is None:
            first = 0.0
            if not times_ms:
                first = FIRST_STEP_MS + (COMPILE_MS if self._config.compile != "off" else 0.0)
            settling = 1 + 0.25 * math.exp(-len(times_ms) / 1.5)
            drawn = self._run_step("warmup", settling, first * self._random.gauss(1, 0.03))
            missing_ms -= drawn.device_ms if times_ms else 0.0
            times_ms.append(drawn.wall_ms)
        self._report("warmup")
        return stop

    def _measure(self) -> tuple[str, list[float]]:
        rules, box = self._rules, self._box
        begin_s, done_ms = box.now_s, []
        while True:
            done_ms.append(self._run_step("measure").device_ms)
            enough = len(done_ms) >= rules.iterations and sum(done_ms) >= 1000 * (rules.min_time_s or 0.0)
            late = rules.max_time_s is not None and box.now_s - begin_s >= rules.max_time_s
            if enough or late:
                break
        self._report("measure")
        if enough:
            return steps_reason(rules.iterations, len(done_ms), rules.min_time_s), done_ms
        return f"time limit of {rules.max_time_s:g} s", done_ms

    def _run_step(self, phase: Phase, factor: float = 1.0, first_ms: float = 0.0) -> DrawnStep:
        """Run and record a step, ``factor`` times as long; ``first_ms`` is what a first step adds."""
        box = self._box
        drawn = self._times.draw(box.gpu, factor, first_ms)
        self._add(drawn)
        self._set_load(min(1.0, drawn.busy_ms / drawn.wall_ms), compiling=first_ms > COMPILE_MS / 2)
        box.advance(drawn.wall_ms / 1000)
        if box.now_s - self._reported_s >= REPORT_S:
            self._report(phase)
        return drawn

    def _set_load(self, busy: float, *, compiling: bool) -> None:
        shared = self._trouble.other_gpu_processes
        memory_mb = self._used_mb + 6_200 * shared
        gpu_busy = 0.02 if compiling else min(1.0, busy + 0.3 * shared)
        self._box.gpu.load = Load(self._step.dynamic_w, gpu_busy, memory_mb)
        self._box.host.worker = 640.0 if compiling else 101.0 + 8 * busy

    def _add(self, drawn: DrawnStep) -> None:
        rows, config = self._rows, self._config
        padded = config.batch_size * config.sequence_length
        share = min(1.0, self._random.gauss(0.965, 0.02 / math.sqrt(config.batch_size)))
        rows.wall_ms.append(round(drawn.wall_ms, 3))
        rows.device_ms.append(round(drawn.device_ms, 3))
        rows.host_ms.append(round(drawn.host_ms, 3))
        generated = config.batch_size * self._new_tokens
        rows.tokens.append(round(padded * share) + generated)
        rows.padded_tokens.append(padded + generated)
        for part, part_ms in drawn.parts_ms.items():
            rows.parts_ms.setdefault(part, []).append(round(part_ms, 3))

    def _report(self, phase: Phase) -> None:
        rows, self._rows = self._rows, Rows()
        self._reported_s = self._box.now_s
        if rows.wall_ms:
            columns = {name: getattr(rows, name) for name in Rows.__slots__}
            self._emit(Steps(t=self._now, case=self._case, phase=phase, round=self._round, **columns))

    def _prepared(self, load_s: float) -> CasePrepared:
        return CasePrepared(
            t=self._now,
            case=self._case,
            model=llama.MODEL,
            data=Data(dataset=self._sweep.dataset, samples=2_000, tokenizer="LlamaTokenizer"),
            effective=self._effective(),
            marks=MARKS,
            load_s=round(load_s, 4),
            samples_per_step=self._config.batch_size,
            new_tokens=self._new_tokens or None,
            gpu_uuid="GPU-simulated-0",
        )

    def _effective(self) -> Effective:
        dtype = {"fp32": "float32", "bf16": "bfloat16"}[self._config.precision]
        return Effective(
            weights_dtype=dtype,
            output_dtype=dtype,
            tf32=False if dtype == "float32" else None,
            attention=self._config.attention,
            compiled=self._config.compile != "off",
            threads=CPUS // 2,
            padding="max",
            others={"tokenizer_threads": CPUS // 2},
        )

    def _ended(
        self, begin_s: float, end_s: float, stop: str, warmup_stop: str, device_ms: list[float]
    ) -> CaseFinished:
        environment = self._environment(begin_s, end_s)
        compiled = self._config.compile != "off"
        return CaseFinished(
            t=self._now,
            case=self._case,
            outcome="ok",
            measured_s=(round(begin_s, 4), round(end_s, 4)),
            stop=stop,
            warmup_stop=warmup_stop,
            effective=self._effective(),
            memory=Memory(
                peak_allocated_mb=round(self._step.allocated_mb, 1),
                peak_reserved_mb=round(RESERVED * self._step.allocated_mb, 1),
                peak_device_mb=round(self._used_mb, 1),
                peak_rss_mb=round(self._random.gauss(3_480, 12), 1),
                kv_cache_mb=self._step.kv_cache_mb and round(self._step.kv_cache_mb, 1),
            ),
            energy=gpu_energy(self._box.window, 0, begin_s, end_s),
            environment=environment,
            compiling=Compiling(graphs=1, graph_breaks=0, recompiles=0, cold=(0,)) if compiled else None,
            work=self._work(median(device_ms)),
            marks=(*MARKS, *disturbances(environment, end_s - begin_s)),
        )

    def _environment(self, begin_s: float, end_s: float) -> Environment:
        window, random, trouble = self._box.window, self._random, self._trouble
        clocks = [mhz for _, mhz in window.gpu(0, "graphics_clock_mhz", begin_s, end_s)]
        others = [mhz for _, mhz in window.host("cpu_percent", begin_s, end_s)]
        ours = [mhz for _, mhz in window.host("worker_cpu_percent", begin_s, end_s)]
        return Environment(
            worker_cpu=round(sum(ours) / len(ours) / 100, 3),
            involuntary_switches=round(random.uniform(0.2, 3) * (end_s - begin_s)),
            others_cpu_percent=round(max(0.0, (sum(others) - sum(ours)) / len(ours) - 1), 1),
            processors=CPUS,
            load_average=round(1.1 + trouble.others_cpu_percent / 130, 2),
            graphics_clock_mhz=round(sum(clocks) / len(clocks), 1),
            graphics_clock_least_mhz=min(clocks),
            graphics_clock_default_mhz=BOOST_MHZ,
            graphics_clock_default_is_highest=True,
            throttle=window.throttle(0, begin_s, end_s),
            temperature_c=max(value for _, value in window.gpu(0, "temperature_c", begin_s, end_s)),
            power_limit_w=window.power_limit_w(0),
            gpu_processes=trouble.other_gpu_processes,
        )

    def _work(self, device_ms: float) -> StepCost:
        step, config = self._step, self._config
        kernels = {"bf16": ("flash",), "fp32": ("efficient",)}
        eager = config.attention == "eager"
        padded = config.batch_size * (config.sequence_length + self._new_tokens)
        return StepCost(
            flops=step.flops,
            bytes_moved=step.bytes_moved,
            bytes_of_weights=step.weights,
            busy_ms=round(min(step.kernels_ms + step.decode_kernels_ms, device_ms), 3),
            padded_tokens=padded,
            typical_padded_tokens=padded,
            attention=() if eager else kernels[config.precision],
            absent={"attention": "eager attention is no kernel of its own"} if eager else {},
        )

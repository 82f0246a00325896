"""Random sessions of reports: their axes, their noise and their incidents."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    Peaks,
    RoundFinished,
    Runtime,
    SessionFinished,
    SessionStarted,
    Steps,
)
from benchtui.sessions.payloads import Effective, Energy, Environment, Host, Memory, Model, Reported, StepCost
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.disturbance import disturbances, merge_round_marks
from benchtui.sessions.sweep import Baseline, Config, Measure, Sweep

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "int8": "qint8"}


@dataclass(frozen=True)
class Steadiness:
    """How the steps of a case spread."""

    spread: float
    slow: float
    """Share of steps that take 2.5 times as long."""


@dataclass
class Drawn:
    """A random session from a seed: its axes, its noise and its incidents."""

    seed: int

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.numpy = np.random.default_rng(self.seed)
        choose = self.random.choice
        self.rounds = choose([1, 1, 1, 2, 3, 3, 5])
        self.steps = choose([4, 8, 12, 30, 45, 130])
        self.spread = choose([0.002, 0.01, 0.03, 0.1])
        self.between = choose([0.0, 0.001, 0.005, 0.03])
        self.imported = self.happens(0.12)
        self.task = choose(["classify", "classify", "lm-forward", "generate"])
        self.with_memory = self.happens(0.8)
        self.with_energy = self.happens(0.3)
        self.with_limits = self.happens(0.35)
        self.with_parts = self.happens(0.4)
        self.disturbed = self.happens(0.2)
        self.cut_off = self.happens(0.08)
        self.effects = {
            value: choose([1.0, 1.0, 0.99, 0.95, 0.7, 1.2]) for value in (*DTYPES, "amp-fp16", "default")
        }

    def happens(self, share: float) -> bool:
        return self.random.random() < share

    def session(self) -> Session:
        session = Session(metrics)
        session.apply_all(self.events())
        return session

    def events(self) -> Iterator[AnyEvent]:
        configs = self.configs()
        measure = Measure(rounds=self.rounds, aa=bool(configs[-1].repeat), baseline=self.baseline(configs))
        yield SessionStarted(
            t=0.0,
            id=f"drawn-{self.seed}",
            created="2026-11-22T10:00:00Z",
            sweep=Sweep(name="drawn", model="tiny", task=self.task, measure=measure),
            plan=tuple(configs),
            host=Host(platform="Linux", absent={"gpu": "no NVIDIA driver"}),
            source="batch-sweep results.jsonl" if self.imported else None,
        )
        yield Runtime(t=0.0, torch="2.9")
        yield from self.peaks(configs)
        for index, config in enumerate(configs):
            yield from self.case(index, config, self.outcome(config))
        if not self.cut_off:
            yield SessionFinished(
                t=999.0, outcome=self.random.choice(["completed", "completed", "interrupted"])
            )

    def configs(self) -> list[Config]:
        some = self.random.sample
        sizes = sorted(some([1, 2, 4, 8, 16, 32], self.random.randint(1, 4)))
        lengths = sorted(some([32, 128, 512], self.random.choice([1, 1, 2])))
        precisions = ["fp32", *some(["amp-fp16", "bf16", "int8"], self.random.choice([0, 0, 1, 2]))]
        compiles = ["off", "default"][: self.random.choice([1, 1, 2])]
        devices = self.random.choice([["cpu"], ["cpu"], ["cuda:0"], ["cpu", "cuda:0"]])
        found = [
            Config(
                device=device, precision=precision, compile=compile_, sequence_length=length, batch_size=size
            )
            for device in devices
            for precision in precisions
            for compile_ in compiles
            for length in lengths
            for size in sizes
        ]
        kept = found if self.happens(0.7) else [each for each in found if self.happens(0.7)] or found
        kept = kept[:10]
        return (
            [*kept, msgspec.structs.replace(kept[0], repeat=1)]
            if self.happens(0.3) and not self.imported
            else kept
        )

    def baseline(self, configs: list[Config]) -> Baseline | None:
        one = self.random.choice(configs)
        return self.random.choice(
            [
                None,
                Baseline(batch_size=configs[0].batch_size),
                Baseline(compile="off", batch_size=one.batch_size),
                Baseline(precision=one.precision, device=one.device),
                Baseline(sequence_length=one.sequence_length, batch_size=one.batch_size),
            ]
        )

    def outcome(self, config: Config) -> str | None:
        if config.batch_size * config.sequence_length >= 4096 and self.happens(0.4):
            return "oom"
        if self.happens(0.08):
            return self.random.choice(["skipped", "failed", "timeout", "oom"])
        return None if self.cut_off and self.happens(0.1) else "ok"

    def peaks(self, configs: list[Config]) -> Iterator[Peaks]:
        if self.with_limits:
            low = self.random.choice([1.0, 1.0, 0.02])
            for device in dict.fromkeys(config.device for config in configs):
                for precision in ("fp32", "fp16", "bf16"):
                    yield Peaks(
                        t=0.0,
                        device=device,
                        precision=precision,
                        flops_per_s=2e11 * low * self.random.uniform(0.3, 3),
                        bytes_per_s=2e10 * self.random.uniform(0.3, 3) if self.happens(0.9) else None,
                    )

    def typical_ms(self, config: Config) -> float:
        """Return the average step time of a case."""
        effect = self.effects.get(config.precision, 1.0) if config.precision != "fp32" else 1.0
        effect *= self.effects["default"] if config.compile != "off" else 1.0
        device = 0.1 if config.device.startswith("cuda") else 1.0
        size = config.batch_size ** (0.6 + 0.6 * random.Random(self.seed + 1).random())
        return 20.0 * effect * device * size * (config.sequence_length / 128) ** 0.9

    def case(self, index: int, config: Config, outcome: str | None) -> Iterator[AnyEvent]:
        if outcome == "skipped":
            yield CaseFinished(t=index, case=index, outcome="skipped", reason="left out")
        elif self.imported:
            yield self.reported(index, config, outcome or "ok")
        elif outcome == "ok":
            yield from self.measured(index, config)
        else:
            yield CaseStarted(t=index, case=index, config=config)
            if outcome:
                yield CaseFinished(t=index, case=index, outcome=outcome, reason=f"{outcome} it was")  # type: ignore[arg-type]

    def reported(self, index: int, config: Config, outcome: str) -> CaseFinished:
        if outcome != "ok":
            return CaseFinished(t=index, case=index, outcome=outcome)  # type: ignore[arg-type]
        mean = self.typical_ms(config) * self.random.uniform(0.97, 1.03)
        rate = 1000 * config.batch_size / mean * self.random.uniform(0.99, 1.01)
        repeats = tuple(mean * each for each in (0.99, 1.0, 1.01)) if self.happens(0.2) else ()
        reported = Reported(steps=50, latency_mean_ms=mean, samples_per_s=rate, repeats_mean_ms=repeats)
        return CaseFinished(t=index, case=index, outcome="ok", reported=reported, memory=self.memory(config))

    def measured(self, index: int, config: Config) -> Iterator[AnyEvent]:
        """A case with its rounds one after the other."""
        around = [self.environment(config) for _ in range(self.rounds)]
        joules = [config.batch_size * self.steps * self.random.uniform(0.9, 1.0) for _ in range(self.rounds)]
        own = Steadiness(
            self.spread * self.random.choice([1, 1, 1, 3]), self.random.choice([0.0, 0.0, 0.03, 0.2])
        )
        prepared = CasePrepared(
            t=index,
            case=index,
            model=Model(name="tiny", weights="pretrained"),
            effective=self.effective(config),
            marks=("random weights",) if self.seed % 5 == 0 else (),
            new_tokens=8 if self.task == "generate" else None,
        )
        for turn in range(self.rounds):
            yield CaseStarted(t=index, case=index, round=turn, config=config)
            yield prepared
            yield from self.steps_of(
                index, config, turn, own, disturbed=around[turn].others_cpu_percent == 110.0
            )
            if turn < self.rounds - 1:
                yield RoundFinished(
                    t=index,
                    case=index,
                    round=turn,
                    marks=disturbances(around[turn], 1.0),
                    energy=Energy(energy_j=joules[turn]) if self.with_energy else None,
                    **self.ended(config, around[turn]),
                )
        marks = [disturbances(each, 1.0) for each in around]
        whole = Energy(energy_j=sum(joules), mean_power_w=50.0, source="counter")
        yield CaseFinished(
            t=index,
            case=index,
            outcome="ok",
            marks=merge_round_marks(marks) if len(marks) > 1 else marks[0],
            energy=whole if self.with_energy else None,
            work=self.work(config) if self.with_limits and self.happens(0.9) else None,
            **self.ended(config, around[-1]),
        )

    def ended(self, config: Config, around: Environment) -> dict[str, Any]:
        """Return the fields known at the end of a round."""
        return {"environment": around, "measured_s": (0.0, 1.0), "memory": self.memory(config)}

    def steps_of(
        self, index: int, config: Config, turn: int, own: "Steadiness", *, disturbed: bool
    ) -> Iterator[Steps]:
        """The warm-up and the measured steps of a round."""
        middle = self.typical_ms(config) * np.exp(self.numpy.normal(0, self.between))
        times = middle * np.exp(self.numpy.normal(0, own.spread, self.steps)) * (1.1 if disturbed else 1.0)
        times[self.numpy.random(self.steps) < own.slow] *= 2.5
        if self.seed % 3:
            cold = (40.0 if config.compile != "off" else 3.0) * self.random.uniform(0.5, 2)
            warm = [float(middle * cold), float(middle)]
            yield Steps(t=index, case=index, phase="warmup", round=turn, wall_ms=warm)
        share = self.random.choice([0.02, 0.15, 0.6])
        split = {"tokenize": share, "forward": 1 - share} if self.with_parts else {}
        yield Steps(
            t=index,
            case=index,
            phase="measure",
            round=turn,
            wall_ms=times.tolist(),
            parts_ms={name: (times * part).tolist() for name, part in split.items()},
            tokens=[config.batch_size * config.sequence_length // 2] * self.steps if self.seed % 2 else None,
        )

    def memory(self, config: Config) -> Memory | None:
        if not self.with_memory or self.happens(0.02):
            return None
        peak = 500.0 + 3 * config.batch_size * config.sequence_length / 64
        peak *= self.effects["default"] + 0.3 if config.compile != "off" else 1.0
        peak *= self.random.choice([1.0, 1.0, 1.001])
        on_gpu = config.device != "cpu"
        return Memory(peak_rss_mb=peak + 300 * on_gpu, peak_allocated_mb=peak if on_gpu else None)

    def environment(self, config: Config) -> Environment:
        if self.disturbed and self.happens(0.4):
            others = self.random.choice([30.0, 110.0])
            return Environment(others_cpu_percent=others, processors=4)
        if config.device != "cpu" and self.seed % 4 == 0:
            return Environment(
                graphics_clock_mhz=self.random.choice([1500.0, 1500.0, 1200.0]),
                graphics_clock_default_mhz=1500.0,
            )
        return Environment(others_cpu_percent=1.0, processors=4)

    def effective(self, config: Config) -> Effective | None:
        if self.seed % 7 == 0:
            return None
        vain = self.seed % 11 == 0
        autocast = "float16" if config.precision.startswith("amp-") and not vain else None
        return Effective(
            weights_dtype=DTYPES.get(config.precision, "float32") if not vain else "float32",
            autocast_dtype=autocast,
            output_dtype="float32",
            attention="sdpa",
            compiled=config.compile != "off" and not (vain and self.seed % 2),
            threads=2,
        )

    def work(self, config: Config) -> StepCost:
        flops = 1e9 * config.batch_size * config.sequence_length / 128
        busy = None if config.device == "cpu" else self.typical_ms(config) * self.random.uniform(0.5, 1)
        return StepCost(
            flops=flops,
            bytes_moved=1e8 + 1e7 * config.batch_size,
            bytes_of_weights=8e7 if self.happens(0.95) else 4e9,
            busy_ms=busy,
        )

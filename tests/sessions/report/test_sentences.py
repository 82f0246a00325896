"""No report contains a sentence that its results contradict: random sessions, and planted faults."""

import io
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from benchtui.sessions.advice.optimal import Decision
from benchtui.sessions.events import (
    Answered,
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
from benchtui.sessions.export import step_export
from benchtui.sessions.export.case_export import as_json
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.payloads import (
    AnswerComparison,
    Effective,
    Energy,
    Environment,
    Gpu,
    Host,
    Memory,
    Model,
    Reported,
    StepCost,
)
from benchtui.sessions.report import document
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.overview import decision, option_effects
from benchtui.sessions.report.sections import leaderboard, recommendations, roofline
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.disturbance import disturbances, merge_round_marks, undisturbed
from benchtui.sessions.stats.evidence import summarize
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.sweep import Baseline, Config, Measure, Sweep, Train, Work
from benchtui.sessions.text import quantities, wording
from benchtui.sessions.text.answers import answer_cell
from benchtui.sessions.text.formatting import percentage
from benchtui.sessions.text.tables import Column

from .checker.case_tables import BY_BATCH_SIZE, BY_CASE
from .checker.cases import OPTIONS, Row
from .checker.recording import Recording
from .checker.sections import objections

ROOT = Path(__file__).parents[3]
SEEDS = 300
AT_EACH_CHECK = 60
TASKS = ("classify", "generate", "lm-forward", "lm-train", "own-step")
"""Recorded sweeps of a tiny model, one for each task."""
JUDGED = ("Decision", "Results", "What each option brings", "Choices in detail", "Limitations")
COMPILED = Effective(weights_dtype="float32", output_dtype="float32", compiled=True)
WORDS_OF_RANKING = ("Batch size matters", "Compiling matters")
DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "int8": "qint8"}


def results_of(session: Session) -> dict[str, Any]:
    """Return what ``benchtui export --format json`` writes, with the rounds that ended and that count."""
    found: dict[str, Any] = json.loads(as_json(session))
    for row in found["cases"]:
        medians, case = row["rounds_p50_ms"], session.cases[row["case"]]
        row["ended_rounds"] = len(case.ends)
        row["counted_p50_ms"] = medians and undisturbed(case, medians)
    return found


def results_for_each_baseline(session: Session, results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results with each measured case as the baseline of its sequence length."""
    started, found = session.started, []
    for row in results["cases"]:
        if row["outcome"] == "ok" and not row["again"]:
            named = {name: row[name] for name in (*OPTIONS, "batch_size")}
            session.judge_by(VerdictSettings(baseline=Baseline(**named)))
            found.append(results_of(session))
            session.started = started
    return found


def objections_to(session: Session, report: str | None = None, recording: Recording | None = None) -> list[str]:
    """Return the checker's objections to both reports of a session, or to another text."""
    results = results_of(session)
    others = results_for_each_baseline(session, results)
    reports = [report] if report else [markdown(session), markdown(session, full=True)]
    found = (
        objections(results, each, others, recording=recording, explained=explained_in(session))
        for each in reports
    )
    return [objection for each in found for objection in each]


def recording_of(path: Path) -> Recording:
    """Return the steps of a session file, as ``benchtui export --steps`` writes them, and its events."""
    steps = io.BytesIO()
    step_export.write_csv(step_export.load_steps(path), steps)
    return Recording.parse(steps.getvalue().decode(), path.read_text())


def explained_in(session: Session) -> list[Row]:
    """Return the profiles and peaks of a session as its file has them."""
    events = [*(case.explained for case in session.cases if case.explained), *session.peaks]
    found: list[Row] = json.loads(msgspec.json.encode(events))
    return found


# --- drawn sessions


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
        session = Session(summarize)
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


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.long] if seed >= AT_EACH_CHECK else []) for seed in range(SEEDS)],
)
def test_drawn_session_has_no_sentence_that_its_results_contradict(seed: int) -> None:
    assert objections_to(Drawn(seed).session()) == []


RECORDED = (
    "sessions/library/demo/demo.json",
    "sessions/library/demo/demo-cpu.json",
    "tests/fixtures/quick-cpu.json",
    "tests/fixtures/comprehensive-report.json",
    *(f"tests/fixtures/recorded/{name}.json" for name in TASKS),
)


@pytest.mark.parametrize("path", RECORDED)
def test_recorded_session_has_no_sentence_that_its_results_contradict(path: str) -> None:
    session = Session.load(ROOT / path, summarize)
    assert objections_to(session, recording=recording_of(ROOT / path)) == []


@pytest.mark.parametrize(
    "name", ["batch-sweep-runner.jsonl", "gpt2-training-results.csv", "optimum-benchmark.json"]
)
def test_imported_session_has_no_sentence_that_its_results_contradict(tmp_path: Path, name: str) -> None:
    session_writer.write(registry.read(ROOT / "tests" / "fixtures" / name), tmp_path / "session.json")
    assert objections_to(Session.load(tmp_path / "session.json", summarize)) == []


# --- planted faults


def objections_to_report_with(session: Session, words: str) -> list[str]:
    """Return the objections to a report that contains these words."""
    report = markdown(session, full=True)
    assert words in " ".join(report.split())
    return objections_to(session, report)


def test_checker_rejects_the_number_of_a_very_wide_interval(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = [[ms + step / 1000 for step in range(30)] for ms in (2.0, 10.0, 40.0)]
    session = bench.session(bench.case(1, 10.0, rounds=rounds), bench.case(2, 10.0))
    assert objections_to(session) == []
    monkeypatch.setitem(quantities.FORMATS, "half width", percentage)
    assert any("half the interval" in each or "a cell" in each for each in objections_to(session))


def test_checker_rejects_same_for_an_unsure_option(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(1, 10.3, compile="default", effective=COMPILED))
    assert objections_to(session) == []
    monkeypatch.setitem(option_effects._ADVICE, Verdict.UNSURE, option_effects._ADVICE[Verdict.SAME])
    (found,) = objections_to_report_with(session, "| 1 unsure | same |")
    assert "that needs all to be same" in found


def test_checker_rejects_same_for_a_case_unsure_against_its_baseline(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(1, 9.5, threads=2))
    assert objections_to(session) == []
    swapped = SimpleNamespace(
        SAME=Verdict.UNSURE, UNSURE=Verdict.SAME, FASTER=Verdict.FASTER, REPORTED=Verdict.REPORTED
    )
    monkeypatch.setattr(wording, "Verdict", swapped)
    found = objections_to_report_with(session, "the same as the baseline")
    assert any("the verdict is unsure" in each for each in found)


def test_checker_compares_the_nearest_case_to_the_peak_with_all_rows(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e11, bytes_per_s=1e10)
    either = StepCost(flops=5e8, bytes_moved=8e7, bytes_of_weights=1e7)
    bound = StepCost(flops=6e8, bytes_moved=1e7, bytes_of_weights=1e7)
    session = bench.session(
        bench.case(1, 10.0, end={"work": either}), bench.case(2, 20.0, end={"work": bound}), more=[peaks]
    )
    assert objections_to(session) == []
    nearest = roofline._nearest
    monkeypatch.setattr(
        roofline, "_nearest", lambda found, varying: nearest([row for row in found if row[1].bound], varying)
    )
    found = objections_to_report_with(session, "is 30.0 % (cpu fp32 bs=2)")
    assert all("the most is 50.0" in each for each in found)


def test_checker_rejects_a_baseline_of_another_sequence_length(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = bench.session(bench.case(1, 10.0, sequence_length=32), bench.case(1, 30.0), bench.case(2, 40.0))
    assert objections_to(session) == []
    monkeypatch.setattr(
        recommendations, "baselines", lambda results, named: dict.fromkeys((Work(32), Work(128)), results[0])
    )
    found = objections_to_report_with(session, "the throughput of the baseline, cpu fp32 bs=1 seq=32")
    assert any("the baseline has another sequence length" in each for each in found)


def test_checker_rejects_clearly_ahead_with_longer_slow_steps(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scattered = [10.0, 10.1, 9.9] * 8 + [10.0, 10.0] + [17.0] * 4
    session = bench.session(bench.case(1, scattered), bench.case(1, 13.0, threads=2))
    assert objections_to(session) == []
    confidence = decision.confidence

    def without_tail(choice: Decision) -> str:
        return confidence(msgspec.structs.replace(choice, tail=None))

    monkeypatch.setattr(decision, "confidence", without_tail)
    found = objections_to_report_with(session, "clearly ahead of the next")
    assert any("its slow steps are longer: ('p90', 17.0" in each for each in found)


def test_checker_rejects_a_lead_of_the_wrong_sign(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(1, 9.9, compile="default", effective=COMPILED))
    assert objections_to(session) == []
    lead = wording._lead
    monkeypatch.setattr(
        wording, "_lead", lambda ahead, how: lead(ahead, how).replace("is 1.01 %", "is -1.01 %")
    )
    found = objections_to_report_with(session, "is -1.01 % ahead")
    assert any("it is 1.01" in each for each in found)
    assert any("the lead isn't small" in each for each in found)


def test_checker_rejects_the_metric_of_another_case(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(1, 9.9, compile="default", effective=COMPILED))
    over_leader = wording._over_leader

    def with_the_other(choice: Decision, kinds: Sequence[str]) -> str:
        figures = [wording.figure(row, choice.objective.need) for row in (choice.leader, choice.best) if row]
        return over_leader(choice, kinds).replace(*figures)

    monkeypatch.setattr(wording, "_over_leader", with_the_other)
    found = objections_to_report_with(session, "compile=default bs=1 (100 samples/s) is 1.01 % ahead")
    assert any("is 101.01" in each for each in found)


def test_checker_rejects_a_sentence_of_unknown_shape(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, 20.0))
    growths = recommendations.growths
    monkeypatch.setattr(recommendations, "growths", lambda *known: [*growths(*known), "Larger batches pay."])
    (found,) = objections_to_report_with(session, "Larger batches pay.")
    assert "unknown words: 'Larger batches pay'" in found


def test_checker_requires_an_accuracy_note_for_a_precision(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    half = bench.effective(weights_dtype="bfloat16")
    session = bench.session(bench.case(1, 10.0), bench.case(1, 5.0, precision="bf16", effective=half))
    assert objections_to(session) == []
    monkeypatch.setattr(wording, "_accuracy", lambda result, baseline: None)
    assert all(
        "nothing is said of accuracy" in each for each in objections_to_report_with(session, "cpu bf16 bs=1")
    )


def test_checker_rejects_break_even_of_compiling_that_is_not_faster(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = {"compile": "default", "effective": COMPILED, "warmup_ms": [500.0]}
    session = bench.session(bench.case(1, 10.0), bench.case(1, 9.9, **compiled))
    assert objections_to(session) == []
    column = Column("Pays off after (steps)", lambda each: "50")
    monkeypatch.setattr(option_effects, "_COLUMNS", (*option_effects._COLUMNS, column))
    (found,) = objections_to_report_with(session, "Pays off after (steps)")
    assert "no pair is faster" in found


def test_checker_rejects_the_import_date_as_the_measuring_date(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = bench.session(bench.case(1, 10.0))
    session.started = msgspec.structs.replace(session.start, source="another tool's file")
    assert objections_to(session) == []
    monkeypatch.setattr(document, "when", lambda start: f"Measured on {document.format_date(start.created)}")
    (found,) = objections_to_report_with(session, "Measured on 2026-11-21")
    assert "that was the import" in found


def test_checker_rejects_ranks_not_ordered_by_throughput(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, 15.0), bench.case(4, 28.0))
    assert objections_to(session) == []
    monkeypatch.setattr(leaderboard, "sorted", lambda rows, **how: list(rows), raising=False)
    assert any("not by throughput" in each for each in objections_to(session))


# --- contradictions that drawn sessions found


def section_text(session: Session, title: str) -> str:
    """Return the text of a section of the full report, which has no objections."""
    report = markdown(session, full=True)
    assert objections_to(session, report) == []
    assert f"\n## {title}\n" in report
    return re.split(r"\n## ", report.partition(f"\n## {title}\n")[2])[0]


def gpu_case(bench: Any, size: int, ms: float, mb: float, **options: Any) -> Any:
    end = {"memory": Memory(peak_rss_mb=900.0, peak_allocated_mb=mb)}
    return bench.case(size, ms, device="cuda:0", end=end, **options)


def test_less_memory_is_not_a_cost(bench: Any) -> None:
    rules = Measure(baseline=Baseline(batch_size=4))
    session = bench.session(
        gpu_case(bench, 4, 40.0, 800.0),
        gpu_case(bench, 1, 5.0, 500.0),
        sweep=Sweep(name="hand", model="tiny", measure=rules),
    )
    assert "It costs" not in section_text(session, "Choices in detail")


def test_process_memory_is_not_compared_with_device_memory(bench: Any) -> None:
    on_cpu = bench.case(1, 50.0, end={"memory": Memory(peak_rss_mb=400.0)})
    session = bench.session(on_cpu, gpu_case(bench, 1, 5.0, 500.0))
    assert "% peak memory" not in section_text(session, "Decision")


def test_series_name_includes_every_varying_option(bench: Any) -> None:
    compiled = {"compile": "default", "effective": COMPILED}
    session = bench.session(
        bench.case(1, 10.0),
        bench.case(2, 30.0),
        bench.case(1, 8.0, **compiled),
        bench.case(2, 10.0, **compiled),
    )
    text = section_text(session, "Results")
    assert "On cpu with fp32 compile=default at 128 tokens, throughput is highest at batch size 2" in text


def test_smaller_batch_that_ran_out_of_memory_is_reported(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, outcome="oom"), bench.case(4, 40.0))
    assert "batch size 2 ran out of memory, although 4 didn't." in section_text(session, "Out of memory")


def test_option_that_was_not_applied_has_no_break_even(bench: Any) -> None:
    vain = bench.case(1, 5.0, compile="default", warmup_ms=[500.0])
    text = section_text(bench.session(bench.case(1, 10.0), vain), "What each option brings")
    assert "| 1 not applied |" in text
    assert "Pays" not in text


def test_advice_never_contradicts_a_recommendation(bench: Any) -> None:
    half = {"precision": "bf16", "effective": bench.effective(weights_dtype="bfloat16")}
    session = bench.session(
        bench.case(1, 10.0),
        bench.case(1, 20.0, **half),
        bench.case(1, 90.0, **half, sequence_length=512),
        bench.case(1, outcome="oom", sequence_length=512),
    )
    text = section_text(session, "Decision")
    assert "| Maximum throughput, 512 tokens" in text
    assert "| cpu bf16 bs=1 seq=512 " in text
    effects = section_text(session, "What each option brings")
    assert "| 1 slower " in effects
    assert "Advice" not in effects


def test_exceeded_bandwidth_does_not_hide_the_peak_rate(bench: Any) -> None:
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e11, bytes_per_s=1e9)
    work = StepCost(flops=5e8, bytes_moved=8e7, bytes_of_weights=2e7)
    text = section_text(bench.session(bench.case(1, 10.0, end={"work": work}), more=[peaks]), "Limits")
    assert "is 50.0 % (cpu fp32 bs=1). No share of the measured bandwidth is given for cpu fp32" in text


def test_no_share_exceeds_100_percent(bench: Any) -> None:
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e11, bytes_per_s=1e10)
    work = StepCost(flops=5e8, bytes_moved=2e8, bytes_of_weights=1e7)
    text = section_text(bench.session(bench.case(1, 10.0, end={"work": work}), more=[peaks]), "Limits")
    assert "&gt; 100" in text
    assert "200.0" not in text


def test_only_a_wide_interval_is_called_too_wide() -> None:
    typical, fast = Bounds(1.24, 1.15, 1.33, 1.1, 1.4), Bounds(1.1, 0.9, 1.3, 0.85, 1.4)
    why = wording.why_unsure(Ratio(1.24, typical, fast=fast))
    assert why == "the interval of fast steps (0.900 to 1.30 ×) is too wide to call"
    wide = wording.why_unsure(Ratio(1.1, fast, fast=fast))
    assert (
        wide == "the interval (0.900 to 1.30 ×) is too wide to call; differences below 30 % can't be resolved"
    )


# --- every figure is held against something


def judged_numbers(report: str) -> list[tuple[int, int]]:
    """Return the positions of the numbers in a report's sentences and tables of judgment."""
    found, place, section = [], 0, ""
    for line in report.splitlines(keepends=True):
        section = line[3:].strip() if line.startswith("## ") else section
        if section in JUDGED and line.startswith(("- ", "> ", "| ", "All rows", *WORDS_OF_RANKING)):
            for match in re.finditer(r"(?<![\w.:=-])[-+]?\d[\d,]*(?:\.\d+)?(?![\w.]*\w)", line):
                if not re.match(r" ?95%| \(%\)|%? interval", line[match.end() - 2 :]):
                    found.append((place + match.start(), place + match.end()))
        place += len(line)
    return found


def altered(shown: str) -> str:
    """Return a number of the same form that is a third larger."""
    digits = len(shown.partition(".")[2])
    value = float(shown.replace(",", ""))
    sign = "+" if shown.startswith("+") else ""
    return f"{sign}{1.31 * value + (0 if digits else 1) + 3 * 10.0**-digits:.{digits}f}"


def test_checker_notices_any_changed_number_in_a_sentence() -> None:
    session = Session.load(ROOT / "sessions/library/demo/demo-cpu.json", summarize)
    report, results = markdown(session, full=True), results_of(session)
    others, unnoticed = results_for_each_baseline(session, results), []
    numbers = judged_numbers(report)
    for start, end in numbers:
        changed = report[:start] + altered(report[start:end]) + report[end:]
        if not objections(results, changed, others):
            unnoticed.append(f"{report[max(0, start - 60) : start]}$ {report[end : end + 20]}")
    assert len(numbers) > 250
    assert unnoticed == []


# --- every cell is compared with something


def cells(report: str) -> list[tuple[int, int]]:
    """Return the positions of the numbers in the tables with a row for each case, past the case's name."""
    found, place, section, header = [], 0, "", []
    for line in report.splitlines(keepends=True):
        section = line[3:].strip() if line.startswith("## ") else section
        titles = [cell.strip() for cell in line.split("|")[1:-1]]
        if line.startswith("|") and section in COMPARED and not titles[0].startswith((":-", "-")):
            header = header if report[:place].endswith("|\n") else titles
            start = place
            for title, cell in zip(header, line.split("|")[1:-1], strict=True):
                start += 1
                if titles != header and title not in NOT_COMPARED:
                    found += [
                        (start + match.start(), start + match.end())
                        for match in re.finditer(r"[-+]?\d[\d,]*(?:\.\d+)?", cell)
                    ]
                start += len(cell)
        place += len(line)
    return found


COMPARED = (*BY_CASE, *BY_BATCH_SIZE, "Step breakdown")
NOT_COMPARED = (
    "Case",
    "Batch size",
    "Share of the measured bandwidth, upper bound (%)",
    "Reason if unknown",
    "Relative to the previous size",
    "Ended by",
    "Marks",
)
"""Columns that name the row, or that quote a fact or a judgment."""


@pytest.mark.parametrize("task", TASKS)
def test_checker_notices_any_changed_cell(task: str) -> None:
    path = ROOT / f"tests/fixtures/recorded/{task}.json"
    session = Session.load(path, summarize)
    report, results, recording = markdown(session, full=True), results_of(session), recording_of(path)
    known, numbers = set(objections(results, report, recording=recording)), cells(report)
    unnoticed = []
    for start, end in numbers[:: max(1, len(numbers) // 100)]:
        changed = report[:start] + altered(report[start:end]) + report[end:]
        if set(objections(results, changed, recording=recording)) <= known:
            unnoticed.append(f"{report[max(0, start - 90) : start]}$ {report[end : end + 20]}")
    assert len(numbers) > 100
    assert unnoticed == []


def test_checker_rejects_a_table_or_column_that_it_does_not_know(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, 15.0))
    report, results = markdown(session, full=True), results_of(session)
    more = "\n## Loot\n\n| Case | Gold |\n| :- | -: |\n| cpu fp32 compile=off bs=1 seq=128 | 3 |\n"
    assert any("a table that no check knows" in each for each in objections(results, report + more))
    renamed = report.replace("Jitter (%)", "Wobble (%)")
    assert any("unknown column: Wobble" in each for each in objections(results, renamed))


def test_checker_rejects_results_that_do_not_follow_from_the_steps() -> None:
    path = ROOT / "tests/fixtures/recorded/lm-train.json"
    session = Session.load(path, summarize)
    report, results, recording = markdown(session), results_of(session), recording_of(path)
    for name in ("latency_p50_ms", "samples_per_s", "tokens_per_s", "loss"):
        changed = {**results, "cases": [{**results["cases"][0], name: 1.5}, *results["cases"][1:]]}
        found = objections(changed, report, recording=recording)
        assert any(f": {name} is " in each for each in found)


# --- answers, and shares of the data sheet's peak


def answering(bench: Any, **figures: Any) -> Session:
    """Build a session of a baseline and a faster case with another precision, whose answers were compared."""
    cases = (bench.steady(1, 10.0), bench.steady(2, 10.0, precision="bf16"), bench.steady(4, 15.0))
    answered = [bench.answered(0), bench.answered(1, **figures), bench.answered(2, absent="slow")]
    return bench.session(*cases, more=answered)  # type: ignore[no-any-return]


ANSWERS = (
    {"verdict": "close", "kl_mean": 4e-4, "kl_p99": 3e-14, "top1_agreement": 0.98, "sqnr_db": 40.83},
    {"verdict": "broken", "kl_mean": 7.1, "sqnr_db": -3.0},
    {"verdict": "different", "equal_tokens": 0.125, "first_difference": 3},
    {"verdict": "identical", "loss_difference": 0.0},
    {"verdict": "different", "loss_difference": 0.01, "change_difference": 0.234, "gradient_difference": 0.05},
)


@pytest.mark.parametrize("figures", ANSWERS)
def test_compared_answers_follow_from_the_results(bench: Any, figures: dict[str, Any]) -> None:
    session = answering(bench, **figures)
    assert "## What the speed costs" in markdown(session)
    assert objections_to(session) == []


def test_session_without_any_answer_says_so_at_the_top(bench: Any) -> None:
    cases = (bench.steady(1, 10.0), bench.steady(2, 10.0, precision="bf16"), bench.steady(4, 15.0))
    answered = [bench.answered(0), *(bench.answered(case, absent="too slow") for case in (1, 2))]
    session = bench.session(*cases, more=answered)
    caveats = markdown(session).partition("## Caveats")[2].partition("## ")[0]
    assert "**No answers**: no case's output could be compared" in caveats and "keep it: too slow." in caveats
    assert objections_to(session) == []
    assert "No answers" not in markdown(answering(bench, verdict="close", kl_mean=1e-4))
    assert "No answers" not in markdown(bench.session(*cases))


def test_answer_that_cannot_be_told_has_its_reason(bench: Any) -> None:
    """It has no verdict, neither in the table nor in the exports."""
    why = "can't tell in 6 steps: the baseline's loss changes by 0.001, noise and rounding by 0.02"
    compared = AnswerComparison(case=1, baseline=0, absent=why)
    cases = (bench.steady(1, 10.0), bench.steady(2, 10.0, precision="bf16"))
    answered = Answered(t=50.0, case=1, comparisons=(compared,))
    session = bench.session(*cases, more=[bench.answered(0), answered])
    assert answer_cell(session.cases[1].comparison) == "? can't tell"
    assert f"keep it: {why}." in markdown(session)
    assert objections_to(session) == []


@pytest.mark.parametrize(
    ("lengths", "more"), [(4, "1 more recommended case."), (5, "2 more recommended cases.")]
)
def test_warnings_of_many_recommended_cases_are_counted(bench: Any, lengths: int, more: str) -> None:
    sizes = [16 * length for length in range(1, lengths + 1)]
    model = Model(name="tiny", weights="random")
    random = {"model": model, "marks": ("random weights",)}
    cases = [bench.steady(1, 10.0, sequence_length=length, **random) for length in sizes]
    cases += [bench.steady(1, 5.0, precision="bf16", sequence_length=length, **random) for length in sizes]
    far = {"verdict": "different", "kl_mean": 0.3}
    answered = [
        Answered(t=50.0, case=case, comparisons=(AnswerComparison(case=case, baseline=case - lengths, **far),))
        for case in range(lengths, 2 * lengths)
    ]
    session = bench.session(*cases, more=answered)
    report = markdown(session)
    assert f"The same applies to {more}" in report
    assert objections_to(session, report) == []
    assert objections_to(session, report.replace(f"applies to {more[0]}", "applies to 7"))


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("0.0004", "0.0005"),
        ("98.0", "97.0"),
        ("40.8", "40.9"),
        ("CLOSE", "IDENTICAL"),
        ("1 case (slow)", "2 cases (slow)"),
    ],
)
def test_checker_notices_a_changed_answer(bench: Any, words: str, others: str) -> None:
    session = answering(bench, **ANSWERS[0])
    report = markdown(session, full=True)
    assert words in report
    assert objections_to(session, report.replace(words, others))


@pytest.mark.parametrize(("checkpoints", "kernel"), [(False, "math"), (True, "math"), (False, "flash")])
@pytest.mark.parametrize("shown", ["12.5", "12.8"])
def test_checker_computes_the_share_of_the_data_sheet(
    bench: Any, shown: str, checkpoints: bool, kernel: str
) -> None:
    again = checkpoints or kernel == "flash"
    work = StepCost(flops=2.4735e12, bytes_moved=1e9, bytes_of_weights=1e8, attention=(kernel,))
    made = bench.case(
        1,
        20.0,
        device="cuda:0",
        precision="bf16",
        parts={"backward": [12.0] * 30},
        end={"work": work},
        prepared={"gpu_uuid": "GPU-1"},
    )
    host = Host(gpus=(Gpu(index=0, name="NVIDIA H200", uuid="GPU-1"),))
    sweep = Sweep(name="hand", model="tiny", task="lm-train", train=Train(activation_checkpointing=checkpoints))
    session = bench.session(made, host=host, sweep=sweep)
    steps = [{"round": "0", "wall_ms": str(ms), "tokens": "100", "part_backward_ms": "12.0"} for ms in made.ms]
    recording = Recording({0: steps}, msgspec.to_builtins(bench.events(made, host=host, sweep=sweep)))
    report = markdown(session, full=True)

    def amount(changed: str, words: str) -> int:
        return sum(words in each for each in objections_to(session, changed, recording))

    assert report.count(" 12.5 |") == 2
    assert amount(report.replace(" 12.5 |", f" {shown} |"), "12.5, not ") == (0 if shown == "12.5" else 2)
    title, wrong = ("HFU (%)", "MFU (%)") if again else ("MFU (%)", "HFU (%)")
    assert report.count(title) == 2
    assert amount(report, "in HFU alone") == 0
    assert amount(report.replace(title, wrong), "in HFU alone") == 2


def test_checker_knows_the_host_time_of_a_step(bench: Any) -> None:
    work = StepCost(flops=1e12, bytes_moved=1e9, bytes_of_weights=1e8)
    hosts = {"host_ms": [7.125] * 30}
    session = bench.session(bench.case(1, 10.0, device="cuda:0", end={"work": work}, columns=hosts))
    report = markdown(session, full=True)
    assert report.count(" 7.12 |") == 1 and not objections_to(session, report)
    assert objections_to(session, report.replace(" 7.12 |", " 7.22 |"))


def test_checker_knows_what_limited_the_clock(bench: Any) -> None:
    made = bench.case(1, 10.0, end={"environment": Environment(throttle=("hw_thermal", "sw_power_cap"))})
    session, recording = bench.session(made), Recording({}, msgspec.to_builtins(bench.events(made)))
    report = markdown(session, full=True)
    assert not objections_to(session, report, recording)
    assert objections_to(session, report.replace("sw power cap", "hw thermal"), recording)


@pytest.mark.parametrize(
    ("device", "task"), [("cuda:0", "classify"), ("cuda:0", "serve-batch"), ("cpu", "embed")]
)
def test_checker_knows_where_pinned_and_reserved_memory_belong(bench: Any, device: str, task: str) -> None:
    end = {"memory": Memory(peak_reserved_mb=900.0) if device == "cuda:0" else Memory(peak_rss_mb=900.0)}
    sweep = Sweep(name="hand", model="tiny", task=task, measure=Measure(mode="throughput"))
    session = bench.session(bench.case(1, 10.0, device=device, end=end), sweep=sweep)
    report = markdown(session, full=True)

    def objected(changed: str, words: str) -> bool:
        return any(words in each for each in objections_to(session, changed))

    pinned, reserved = (
        "; inputs and results are copied through pinned memory",
        "; reserved memory includes what",
    )
    assert not objected(report, "pinned memory") and not objected(report, "reserved memory")
    timing = "when the next one begins on the GPU"
    others = report.replace(pinned, "") if pinned in report else report.replace(timing, timing + pinned)
    assert objected(others, "pinned memory")
    peaks = "peaks while a case was measured"
    others = report.replace(reserved, "") if reserved in report else report.replace(peaks, peaks + reserved)
    assert objected(others, "reserved memory")


def test_checker_knows_what_gains_are_relative_to(bench: Any) -> None:
    session = bench.session(*(bench.case(1, 10.0, precision=name) for name in ("fp32", "bf16")))
    report = markdown(session, full=True)
    assert not objections_to(session, report)
    assert objections_to(session, report.replace("Relative to fp32", "Relative to bf16"))

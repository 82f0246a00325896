"""Hand-made sessions, built event by event."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from benchtui.sessions.events import (
    Answered,
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    Runtime,
    SessionFinished,
    SessionStarted,
    Steps,
)
from benchtui.sessions.payloads import Answer, AnswerComparison, Effective, Host, Model, ProcessSpread
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.sweep import Config, Sweep

MODEL = Model(name="tiny", architecture="Tiny", parameters=1_234_567, weights="pretrained", source="folder")
FILES = {"config.json": "0123456789abcdef"}
FP32 = Effective(weights_dtype="float32", output_dtype="float32", attention="sdpa", compiled=False, threads=2)


@dataclass(frozen=True)
class Made:
    """A case with steps of these times and this outcome; None leaves it unfinished."""

    config: Config
    ms: Sequence[float] = ()
    rounds: Sequence[Sequence[float]] = ()
    """The same by round, in place of ``ms``."""
    outcome: str | None = "ok"
    end: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, list[float]] = field(default_factory=dict)
    warmup_ms: Sequence[float] = ()
    model: Model | None = MODEL
    effective: Effective | None = FP32
    marks: tuple[str, ...] = ()
    prepared: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    """More columns of its measured steps."""

    def events(self, index: int) -> list[AnyEvent]:
        t = float(index)
        found: list[AnyEvent] = []
        if self.outcome != "skipped":
            found.append(CaseStarted(t=t, case=index, config=self.config))
        if self.ms and self.model:
            found.append(
                CasePrepared(
                    t=t,
                    case=index,
                    model=self.model,
                    effective=self.effective,
                    marks=self.marks,
                    **{"files": FILES} | self.prepared,
                )
            )
        if self.warmup_ms:
            found.append(Steps(t=t, case=index, phase="warmup", wall_ms=list(self.warmup_ms)))
        for turn, times_ms in enumerate(self.rounds or ([self.ms] if self.ms else [])):
            found.append(
                Steps(
                    t=t,
                    case=index,
                    phase="measure",
                    round=turn,
                    wall_ms=list(times_ms),
                    parts_ms=self.parts,
                    **{"tokens": [100] * len(times_ms)} | self.columns,
                )
            )
        if self.outcome:
            found.append(CaseFinished(t=t, case=index, outcome=self.outcome, **self.end))  # type: ignore[arg-type]
        return found


class Bench:
    """Makes cases, sessions and results."""

    def case(self, batch_size: int = 1, ms: Sequence[float] | float = (), **options: Any) -> Made:
        """Build a case; a single time stands for 30 steps spread by 1% around it."""
        names = set(Config.__struct_fields__) - {"model"}  # a case has the model that it loaded
        config = Config(
            **{"device": "cpu", "batch_size": batch_size} | {k: v for k, v in options.items() if k in names}
        )
        times = spread(ms) if isinstance(ms, int | float) else ms
        return Made(config, ms=times, **{k: v for k, v in options.items() if k not in names})

    def steady(self, batch_size: int, ms: float, **options: Any) -> Made:
        """Build a case of three equal rounds, enough for any certain verdict, SAME included."""
        return self.case(batch_size, ms, rounds=[spread(ms)] * 3, **options)

    def session(
        self,
        *made: Made,
        sweep: Sweep | None = None,
        host: Host | None = None,
        finished: str | None = "completed",
        more: Sequence[AnyEvent] = (),
    ) -> Session:
        """Build a session of these cases, in this order."""
        session = Session()
        session.apply_all(self.events(*made, sweep=sweep, host=host, finished=finished, more=more))
        return session

    def events(
        self,
        *made: Made,
        sweep: Sweep | None = None,
        host: Host | None = None,
        finished: str | None = "completed",
        more: Sequence[AnyEvent] = (),
    ) -> list[AnyEvent]:
        start = SessionStarted(
            t=0.0,
            id="abc",
            created="2026-11-21T10:00:00Z",
            sweep=sweep or Sweep(name="hand", model="tiny"),
            plan=tuple(each.config for each in made),
            host=host or Host(platform="Linux", absent={"gpu": "no NVIDIA driver"}),
            process_spread=_recorded_spread(made),
        )
        events: list[AnyEvent] = [start, Runtime(t=0.0, torch="2.9")]
        for index, each in enumerate(made):
            events += each.events(index)
        events += more
        if finished:
            events.append(SessionFinished(t=99.0, outcome=finished))  # type: ignore[arg-type]
        return events

    def answered(self, case: int, digest: str = "a", absent: str | None = None, **figures: Any) -> Answered:
        """Build the answer of a case: compared with case 0 if there are figures."""
        found = (AnswerComparison(case=case, baseline=0, **figures),) if figures else ()
        answer = None if absent else Answer(kind="logits", amount=128, digest=digest)
        return Answered(t=50.0, case=case, answer=answer, absent=absent, comparisons=found)

    def results(self, *made: Made) -> tuple[Result, ...]:
        """Return the results of the measured cases."""
        return measured(self.session(*made))

    def effective(self, **options: Any) -> Effective:
        """Build the applied options: plain fp32, except for these."""
        return msgspec.structs.replace(FP32, **options)


def _recorded_spread(made: Sequence[Made]) -> dict[str, ProcessSpread]:
    """Return the spread that earlier sessions recorded: 2.2%, or almost none for cases of several rounds."""
    if any("reported" in each.end for each in made):
        return {}  # results of another tool
    between = 0.001 if any(len(each.rounds) > 1 for each in made) else 0.022
    return {kind: ProcessSpread(between=between, freedom=12.0) for kind in ("cpu", "cuda")}


def spread(middle_ms: float) -> list[float]:
    """Return 30 times between 99.5% and 100.5% of the middle, which is their mean and median."""
    shuffled = (7 * place % 30 for place in range(30))  # neighboring steps don't depend on each other
    return [middle_ms * (1 + 0.01 * (place / 29 - 0.5)) for place in shuffled]


@pytest.fixture
def bench() -> Bench:
    """Makes cases, sessions and results by hand."""
    return Bench()


@pytest.fixture
def session(bench: Any) -> Session:
    """Return a session of two planned cases that has just started."""
    made = Session()
    made.apply_all(bench.events(bench.case(1), bench.case(2))[:2])
    return made

"""The searches of a sweep with ``batch_size = "auto"``: one a family, fed by what its cases measure."""

from dataclasses import dataclass, field

from msgspec.structs import replace

from benchtui.engine.batch_search import Found, Rate, Trial, Try, following, rate
from benchtui.engine.queue import Queue
from benchtui.sessions.events import AnyEvent, CaseFinished, CasePrepared, CaseRepeated, Steps
from benchtui.sessions.facts import Host
from benchtui.sessions.memory_forecast import MemoryForecast
from benchtui.sessions.sweep import Case, Config, Sweep

THROUGHPUT_BLOCK = 16
"""Steps that are timed as one in throughput mode: engine.measure's, which a worker alone may import."""


@dataclass(slots=True)
class _Measured:
    """What a case of a search has told so far."""

    config: Config
    times_ms: list[float] = field(default_factory=list)
    samples: int | None = None
    gpu_uuid: str | None = None


class BatchSizes:
    """Says after each case of a search which batch size comes next, or what was found."""

    def __init__(self, sweep: Sweep, queue: Queue, host: Host) -> None:
        self._least_block = THROUGHPUT_BLOCK if sweep.measure.mode == "throughput" else 1
        self._queue = queue
        self._host = host
        self._forecast = MemoryForecast()
        self._trials: dict[str, list[Trial]] = {}
        """By family."""
        self._cases: dict[int, _Measured] = {}
        for case in queue.cases if sweep.axes.batch_size_auto else []:
            if not case.config.repeat:  # the second case of an A/A pair is no step of a search
                self.expect(case)

    def expect(self, case: Case) -> None:
        """Count a case to the search of its family."""
        self._cases[case.index] = _Measured(case.config)

    def take(self, event: AnyEvent) -> None:
        """Take in what a running case tells."""
        match event:
            case Steps(phase="measure") if event.case in self._cases:
                self._cases[event.case].times_ms += event.wall_ms
            case CaseRepeated() if event.case in self._cases:
                self._cases[event.case].times_ms.clear()
            case CasePrepared() if event.case in self._cases:
                case = self._cases[event.case]
                case.samples, case.gpu_uuid = event.samples_per_step, event.gpu_uuid

    def ended(self, end: CaseFinished) -> Try | Found | None:
        """What the end of a case's first round leads to; None where no search goes on from there."""
        case = self._cases.pop(end.case, None)
        if case is None or end.outcome == "interrupted":
            return None
        trials = self._trials.setdefault(case.config.family, [])
        if end.outcome == "skipped" and not trials:
            return None  # the row itself tells why
        trials.append(Trial(case.config.batch_size, end.outcome, self._rate(case, end), end.reason))
        if end.outcome == "ok":
            self._forecast.learn(case.config, end.memory)
        step = following(trials, lambda size: self._too_large(case, size))
        return (
            Found(f"auto batch size of {case.config.family}: {step.text}") if isinstance(step, Found) else step
        )

    def _rate(self, case: _Measured, end: CaseFinished) -> Rate | None:
        if end.outcome != "ok":
            return None
        return rate(case.times_ms, case.samples or case.config.batch_size, self._least_block)

    def _too_large(self, case: _Measured, size: int) -> str | None:
        """Why a batch size can't fit, by a smaller case that ran out of memory or by the memory predicted."""
        config = replace(case.config, batch_size=size)
        smaller = self._queue.ran_out_below(config)
        if smaller is not None:
            return f"larger than case {smaller.index}, which ran out of memory"
        predicted, capacity_mb = self._forecast.predict(config), self._capacity_mb(case.gpu_uuid)
        if predicted is None or capacity_mb is None or predicted.peak_mb <= capacity_mb:
            return None
        return f"predicted to need {predicted.peak_mb:,.0f} MB of {capacity_mb:,.0f} MB"

    def _capacity_mb(self, gpu_uuid: str | None) -> float | None:
        """All the memory there is where a case keeps its tensors: more than that surely doesn't fit."""
        if gpu_uuid is not None:
            return next((gpu.memory_mb for gpu in self._host.gpus if gpu.uuid == gpu_uuid), None)
        known = (self._host.memory_mb, self._host.container_memory_mb)
        return min((mb for mb in known if mb is not None), default=None)

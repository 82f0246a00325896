"""Batch size searches of a sweep with ``batch_size = "auto"``: one per family, fed by its cases."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from benchtui.engine.job import THROUGHPUT_BLOCK
from benchtui.engine.supervisor.batch_size_search import (
    NextSize,
    Rate,
    SearchResult,
    Trial,
    largest_and_fastest,
    next_step,
    rate,
)
from benchtui.engine.supervisor.case_queue import Queue
from benchtui.sessions.estimates.memory import MemoryForecast, peak_mb
from benchtui.sessions.events import (
    AnyEvent,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    Message,
    Resumed,
    RoundFinished,
    Steps,
)
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.payloads import Host, Memory
from benchtui.sessions.stats.ended_rounds import as_end
from benchtui.sessions.sweep import LARGEST, Case, Config, Sweep

SEARCH_REASON_PREFIX = "auto: "
"""Prefix of the reason of a case that a search has added."""
FOUND_PREFIX, ENDS_PREFIX = "auto batch size of ", "the search for the batch size of "
"""Prefixes of the messages that end the search of a family."""


class _Measured(msgspec.Struct):
    """Results that a case of a search has reported so far."""

    config: Config
    times_ms: list[float] = msgspec.field(default_factory=list)
    samples: int | None = None
    gpu_uuid: str | None = None


class PendingSearchStep(msgspec.Struct, frozen=True):
    """The search step that follows from the end of a case."""

    case: int
    step: NextSize | SearchResult


class BatchSizeSearches:
    """Determines the next batch size, or the result, after each case of a search."""

    def __init__(self, sweep: Sweep, queue: Queue, hosts: Sequence[Host]) -> None:
        self._least_block = THROUGHPUT_BLOCK if sweep.measure.mode == "throughput" else 1
        self._most = sweep.axes.batch_size_most or LARGEST
        self._margin_percent = sweep.measure.margin_percent
        self._queue = queue
        self._hosts = hosts
        self._forecast = MemoryForecast()
        self._trials: dict[str, list[Trial]] = {}
        """Keyed by family."""
        self._cases: dict[int, _Measured] = {}
        self._members: dict[int, Case] = {}
        """All cases that ever belonged to a search."""
        for case in queue.cases if sweep.axes.batch_size_auto else []:
            if not case.config.repeat:  # the second case of an A/A pair isn't part of a search
                self.add(case)

    def add(self, case: Case) -> None:
        """Add a case to the search of its family."""
        self._members[case.index] = case
        self._cases[case.index] = _Measured(case.config)

    def apply(self, event: AnyEvent) -> None:
        """Apply an event of a running case."""
        match event:
            case Steps(phase="measure") if event.case in self._cases:
                self._cases[event.case].times_ms += event.wall_ms
            case CaseRepeated() if event.case in self._cases:
                self._cases[event.case].times_ms.clear()
            case CasePrepared() if event.case in self._cases:
                case = self._cases[event.case]
                case.samples, case.gpu_uuid = event.samples_per_step, event.gpu_uuid

    def replay_record(self, record: Iterable[AnyRecord]) -> list[PendingSearchStep]:
        """Apply all recorded events; return the search steps that the session file doesn't contain yet."""
        pending: dict[str, PendingSearchStep] = {}
        ended: set[int] = set()
        """Cases whose first round has succeeded; later rounds don't affect a search."""
        for event in record if self._members else ():
            match event:
                case RoundFinished():
                    ended.add(event.case)
                    pending |= self._step_after(as_end(event))
                case CaseFinished():
                    pending |= self._step_after(event)
                case CaseAdded() if event.why.startswith(SEARCH_REASON_PREFIX):
                    pending.pop(event.config.family, None)
                    self.add(Case(event.case, event.config))
                case Resumed():
                    for case in (self._members[item] for item in event.cases if item in self._members):
                        pending.pop(case.config.family, None)
                        if case.index not in ended:
                            self._restart(case)
                case Message():
                    pending = {family: item for family, item in pending.items() if not _is_about(event, family)}
                case Steps() | CaseRepeated() | CasePrepared():
                    self.apply(event)
        return list(pending.values())

    def ended(self, end: CaseFinished) -> NextSize | SearchResult | None:
        """Return the search step that follows a case's round; None if there is none."""
        case = self._cases.pop(end.case, None)
        if case is None:
            return self._correction(end)
        if end.outcome == "interrupted":
            return None
        trials = self._trials.setdefault(case.config.family, [])
        if end.outcome == "skipped" and not trials:
            return None  # the case's row already shows the reason
        reason = self._full(case, end.memory) if end.outcome == "ok" else end.reason
        trials.append(Trial(case.config.batch_size, end.outcome, self._rate(case, end), reason))
        if end.outcome == "ok":
            self._forecast.learn(case.config, end.memory)
        step = next_step(trials, lambda size: self._too_large(case, size), self._most)
        return (
            SearchResult(f"{FOUND_PREFIX}{case.config.family}: {step.text}")
            if isinstance(step, SearchResult)
            else step
        )

    def _correction(self, end: CaseFinished) -> SearchResult | None:
        """Return the corrected result if the largest fitting size ran out of memory in a later round."""
        if end.outcome != "oom" or end.case not in self._members:
            return None
        config = self._members[end.case].config
        trials = self._trials.get(config.family, [])
        fits = [trial.size for trial in trials if trial.fits]
        if config.batch_size != max(fits, default=None):
            return None
        trials[:] = [trial for trial in trials if trial.size != config.batch_size]
        smaller = [trial for trial in trials if trial.fits]
        now = largest_and_fastest(smaller) or "no batch size fits"
        text = f"{config.batch_size:,} ran out of memory in a later round; {now}"
        return SearchResult(f"{FOUND_PREFIX}{config.family}: {text}")

    def _step_after(self, end: CaseFinished) -> dict[str, PendingSearchStep]:
        """Return the search step that follows from the end of a case, by family."""
        step = self.ended(end)
        return (
            {} if step is None else {self._members[end.case].config.family: PendingSearchStep(end.case, step)}
        )

    def _restart(self, case: Case) -> None:
        """Add a restarted case, and discard its previous outcome."""
        trials = self._trials.get(case.config.family, [])
        trials[:] = [trial for trial in trials if trial.size != case.config.batch_size]
        self.add(case)

    def _rate(self, case: _Measured, end: CaseFinished) -> Rate | None:
        if end.outcome != "ok":
            return None
        return rate(case.times_ms, case.samples or case.config.batch_size, self._least_block)

    def _full(self, case: _Measured, memory: Memory | None) -> str | None:
        """Return why a successful case leaves too little memory free; None if it doesn't, or if unknown."""
        peak, capacity_mb = peak_mb(case.config, memory), self._capacity_mb(case)
        if not self._margin_percent or peak is None or capacity_mb is None or peak <= self._usable(capacity_mb):
            return None
        free = max(0.0, 100 * (1 - peak / capacity_mb))
        return f"leaves {free:.1f}% of memory free, less than the margin of {self._margin_percent:g}%"

    def _usable(self, capacity_mb: float) -> float:
        return capacity_mb * (1 - self._margin_percent / 100)

    def _too_large(self, case: _Measured, size: int) -> str | None:
        """Return why a batch size can't fit, from out-of-memory errors and predicted memory; None if it may."""
        config = replace(case.config, batch_size=size)
        smaller = self._queue.smaller_oom_case(config)
        if smaller is not None:
            return f"larger than case {smaller.index + 1}, which ran out of memory"
        predicted, capacity_mb = self._forecast.predict(config), self._capacity_mb(case)
        if predicted is None or capacity_mb is None or predicted.peak_mb <= self._usable(capacity_mb):
            return None
        margin = f" less a margin of {self._margin_percent:g}%" if self._margin_percent else ""
        return f"predicted peak of {predicted.peak_mb:,.0f} MB exceeds {capacity_mb:,.0f} MB{margin}"

    def _capacity_mb(self, case: _Measured) -> float | None:
        """Return the total memory in MB of the GPU or host that holds a case's tensors, as an upper bound."""
        if case.config.device != "cpu":
            gpus = (gpu for host in self._hosts for gpu in host.gpus)
            return next((gpu.memory_mb for gpu in gpus if gpu.uuid and gpu.uuid == case.gpu_uuid), None)
        capacities = [_memory_mb(host) for host in self._hosts]
        return None if None in capacities else max((mb for mb in capacities if mb is not None), default=None)


def _memory_mb(host: Host) -> float | None:
    """Return the memory in MB that processes on a machine may use."""
    limits_mb = (host.memory_mb, host.container_memory_mb)
    return min((mb for mb in limits_mb if mb is not None), default=None)


def _is_about(message: Message, family: str) -> bool:
    return message.text.startswith((f"{FOUND_PREFIX}{family}: ", f"{ENDS_PREFIX}{family} ends: "))

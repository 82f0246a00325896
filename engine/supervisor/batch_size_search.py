"""Batch size searches of a sweep with ``batch_size = "auto"``, one per family, fed by its cases.

A search doubles, then bisects between what fits and what doesn't: the batch sizes tried so far determine the
next one, or the result.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from math import ceil, inf, sqrt
from statistics import fmean, stdev

import msgspec
from msgspec.structs import replace

from benchtui.engine.job import THROUGHPUT_BLOCK
from benchtui.engine.supervisor.case_queue import Queue
from benchtui.sessions.estimates.memory import MemoryForecast, peak_mb
from benchtui.sessions.events import (
    AnyEvent,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    Message,
    Outcome,
    Resumed,
    RoundFinished,
    Steps,
)
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.payloads import Host, Memory
from benchtui.sessions.stats.ended_rounds import as_end
from benchtui.sessions.stats.quantiles import per_second
from benchtui.sessions.sweep import LARGEST, Case, Config, Sweep

GAIN = 1.05
"""Throughput ratio from which a larger batch size counts as a gain."""
MIN_CERTAIN_FLAT_DOUBLINGS = 2
"""Consecutive doublings without such a gain, with noise taken into account, that end the search."""
MAX_FLAT_DOUBLINGS = 3
"""Consecutive doublings without such a gain that end the search even if noise may hide one."""
RESOLUTION = 16
"""The largest size that fits is determined to within 1/16 of its value."""
BLOCKS = 10
MIN_BLOCKS = 3
"""Number of blocks of steps whose spread measures the noise, and the minimum for measuring it."""
SEARCH_REASON_PREFIX = "auto: "
"""Prefix of the reason of a case that a search has added."""
FOUND_PREFIX, ENDS_PREFIX = "auto batch size of ", "the search for the batch size of "
"""Prefixes of the messages that end the search of a family."""

TooLarge = Callable[[int], str | None]
"""Returns why a batch size is known not to fit; None if it must be run to find out."""


class Rate(msgspec.Struct, frozen=True):
    """Throughput in samples per second, with bounds that allow for noise."""

    samples_per_s: float
    low: float = 0.0
    high: float = inf


class Trial(msgspec.Struct, frozen=True):
    """A batch size that was run."""

    size: int
    outcome: Outcome
    rate: Rate | None = None
    reason: str | None = None
    """Why the trial failed; for a successful trial, why it leaves too little memory free."""

    @property
    def fits(self) -> bool:
        """Whether it succeeded and left enough memory free."""
        return self.outcome == "ok" and self.reason is None

    @property
    def too_large(self) -> bool:
        """Whether it ran out of memory, or left too little free."""
        return self.outcome == "oom" or (self.outcome == "ok" and self.reason is not None)

    @property
    def ending(self) -> str:
        """Outcome in words, for a sentence whose subject is the batch size."""
        if self.outcome == "oom":
            return "ran out of memory"
        if self.outcome == "ok":
            return self.reason or "fits"
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome


class NextSize(msgspec.Struct, frozen=True):
    """The next batch size to run."""

    size: int
    why: str


class SearchResult(msgspec.Struct, frozen=True):
    """The result of the search."""

    text: str


def next_step(trials: Sequence[Trial], too_large: TooLarge, most: int = LARGEST) -> NextSize | SearchResult:
    """Return the next batch size, at most ``most``, or the result.

    ``trials`` has at least one entry and is in the order of execution.
    """
    last = trials[-1]
    fits = [trial.size for trial in trials if trial.fits]
    refused = [trial for trial in trials if trial.too_large]
    if last.outcome not in ("ok", "oom"):
        stopped = f"stopped at batch size {last.size:,} ({last.ending})"
        return SearchResult("; ".join(part for part in (stopped, largest_and_fastest(trials)) if part))
    if not fits:
        return SearchResult(f"batch size {last.size:,} {last.ending}")
    if not refused and (flat := flat_doublings(trials)):
        grown = f"throughput grew by less than {GAIN - 1:.0%} over the last {flat} doublings"
        untried = f"{max(fits):,} fits; larger batch sizes not run because {grown}"
        return SearchResult("; ".join([untried, *_fastest(trials)]))
    smallest = min(refused, key=lambda trial: trial.size, default=None)
    return _narrow(trials, max(fits), smallest, too_large, most)


def _narrow(
    trials: Sequence[Trial], fits: int, refused: Trial | None, too_large: TooLarge, most: int
) -> NextSize | SearchResult:
    limit, why_not = (refused.size, refused.ending) if refused else (None, "")
    while (size := _between(fits, limit, most)) is not None:
        reason = too_large(size)
        if reason is None:
            way = "doubling" if limit is None else f"bisecting between {fits:,} and {limit:,}"
            return NextSize(size, f"auto: {way}")
        limit, why_not = size, f"not run: {reason}"
    why = "the maximum allowed" if limit is None else f"{limit:,} {why_not}"
    return SearchResult("; ".join([f"largest that fits {fits:,} ({why})", *_fastest(trials)]))


def _between(fits: int, limit: int | None, most: int) -> int | None:
    """Return the next size to consider; None if the largest that fits is known closely enough."""
    if limit is None:
        return min(2 * fits, most) if fits < most else None
    return (fits + limit) // 2 if limit - fits > max(1, fits // RESOLUTION) else None


def flat_doublings(trials: Sequence[Trial]) -> int | None:
    """Return the number of doublings without a gain if it ends the search, else None.

    Each is compared with the latest size that brought a gain, so that small gains add up. Two flat
    doublings are enough if noise can't hide a gain, three are always enough.
    """
    doublings = (trial for trial in trials if trial.size.bit_count() == 1)
    rates = [trial.rate for trial in doublings if trial.rate is not None]
    reference, flat = None, list[bool]()
    for rate in rates:
        if reference is None or rate.samples_per_s >= GAIN * reference.samples_per_s:
            reference, flat = rate, []
        else:
            flat.append(rate.high < GAIN * reference.low)
    certain = len(list(takewhile(bool, reversed(flat))))
    return len(flat) if certain >= MIN_CERTAIN_FLAT_DOUBLINGS or len(flat) >= MAX_FLAT_DOUBLINGS else None


def rate(times_ms: Sequence[float], samples: int, least_block: int = 1) -> Rate | None:
    """Return the throughput of steps with this many samples each, or None without steps.

    The noise is two standard errors of the mean, computed from the means of consecutive blocks of steps, since
    neighboring steps aren't independent (batch means: Law, Simulation Modeling and Analysis, section 9.5).
    """
    samples_per_s = per_second(samples * len(times_ms), sum(times_ms))
    if samples_per_s is None:
        return None
    size = max(ceil(len(times_ms) / BLOCKS), least_block)
    means = [fmean(times_ms[at : at + size]) for at in range(0, len(times_ms) - size + 1, size)]
    if len(means) < MIN_BLOCKS:
        return Rate(samples_per_s)
    error = 2 * stdev(means) / sqrt(len(means)) / fmean(means)
    return Rate(samples_per_s, samples_per_s * max(0.0, 1 - error), samples_per_s * (1 + error))


def largest_and_fastest(trials: Sequence[Trial]) -> str:
    """Describe the trials so far; empty if none fits."""
    fits = [trial.size for trial in trials if trial.fits]
    return "; ".join([f"largest so far {max(fits):,}", *_fastest(trials)]) if fits else ""


def _fastest(trials: Sequence[Trial]) -> list[str]:
    rated = [(trial.rate.samples_per_s, trial.size) for trial in trials if trial.rate and trial.fits]
    return [f"highest throughput at {max(rated)[1]:,}"] if rated else []


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
        capacities = [host.usable_memory_mb for host in self._hosts]
        return None if None in capacities else max((mb for mb in capacities if mb is not None), default=None)


def _is_about(message: Message, family: str) -> bool:
    return message.text.startswith((f"{FOUND_PREFIX}{family}: ", f"{ENDS_PREFIX}{family} ends: "))

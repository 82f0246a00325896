"""Batch size search of a family: doubling, then bisection between what fits and what doesn't.

Pure: the batch sizes tried so far determine the next one, or the result.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
from math import ceil, inf, sqrt
from statistics import fmean, stdev

import msgspec

from benchtui.sessions.events import Outcome
from benchtui.sessions.stats.quantiles import per_second
from benchtui.sessions.sweep import LARGEST

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

"""One case against another: a ratio with its interval, and the word for it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, floor, sqrt

import msgspec

from benchtui.sessions.results import Result
from benchtui.sessions.sweep import Baseline, Config

Range = tuple[float, float] | None

LEAST_ROUNDS = 3
"""Rounds from which their spread says more of the noise than the spread of the steps."""
MARGIN = 0.005
"""Ranges must lie apart by this share before one case is called faster; less isn't worth a word."""


class Verdict(StrEnum):
    """What a ratio lets one say."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no difference"
    """The ranges overlap."""
    UNSURE = "not known"
    """There are no ranges: too few steps, or a source that kept none. Or something speaks against the steps:
    the rounds don't confirm them, or the machine itself was as much faster."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast: above 1 the new case is the faster one."""

    value: float
    low: float | None = None
    high: float | None = None
    """Bounds that hold if both cases lie anywhere within their ranges (see Result.range_ms); from three rounds
    on, a 95% interval over the rounds."""
    contested: bool = False
    """Whether the steps of the two cases lie apart, and their rounds don't or the machine explains it."""

    @property
    def verdict(self) -> Verdict:
        """The word that the bounds carry."""
        if self.low is None or self.high is None:
            return Verdict.UNSURE
        if self.low > 1 + MARGIN:
            return Verdict.FASTER
        if self.high < 1 - MARGIN:
            return Verdict.SLOWER
        return Verdict.UNSURE if self.contested else Verdict.SAME


@dataclass(frozen=True, slots=True)
class Comparison:
    """A case and the one it is held against."""

    base: Result
    new: Result
    throughput: Ratio | None
    """Samples per second, as totals over totals."""
    latency: Ratio | None
    """Median steps, the base's over the new one's."""


def comparison(base: Result, new: Result) -> Comparison:
    """Both ratios of a pair."""
    return Comparison(base, new, throughput_ratio(base, new), latency_ratio(base, new))


def at_pace(pair: Comparison, pace: tuple[float, float]) -> Comparison:
    """A pair between whose cases the machine itself became so many times as fast, at the least and at the most.

    What that may account for is no difference between the cases.
    """
    return replace(pair, throughput=_at_pace(pair.throughput, pace), latency=_at_pace(pair.latency, pace))


def latency_ratio(base: Result, new: Result) -> Ratio | None:
    """The base's median step over the new one's; None where a time is no time."""
    value = _quotient(base.typical_ms, new.typical_ms)
    return None if value is None else _ratio(value, base, new, 1.0)


def throughput_ratio(base: Result, new: Result) -> Ratio | None:
    """The new case's samples per second over the base's, as totals over totals."""
    value = _quotient(new.metrics.samples_per_s, base.metrics.samples_per_s)
    if value is None:
        return None
    samples = _quotient(new.metrics.samples_per_step, base.metrics.samples_per_step)
    return Ratio(value) if samples is None else _ratio(value, base, new, samples)


def cold_cost_ms(result: Result) -> float | None:
    """What the first step took beyond a steady one; with compiling that is the compiler's time."""
    return result.metrics.cold_cost_ms


def break_even_steps(pair: Comparison) -> int | None:
    """Steps after which the new case's first step has paid for itself; None where it isn't surely faster."""
    cost_ms, saved_ms = cold_cost_ms(pair.new), pair.base.typical_ms - pair.new.typical_ms
    if cost_ms is None or pair.latency is None or pair.latency.verdict is not Verdict.FASTER:
        return None
    return ceil(cost_ms / saved_ms)


def pairs(results: Iterable[Result], option: str, base_value: str) -> list[Comparison]:
    """Every case whose option has another value, against the case that differs from it in this option alone."""
    rows = tuple(results)
    bases = {result.config: result for result in reversed(rows) if getattr(result.config, option) == base_value}
    wanted = ((_with(result.config, option, base_value), result) for result in rows)
    return [
        comparison(bases[config], new)
        for config, new in wanted
        if config in bases and getattr(new.config, option) != base_value
    ]


def baseline_of(result: Result, results: Iterable[Result], named: Baseline | None) -> Result | None:
    """The case to hold a result against.

    Where the sweep names a baseline: of the cases that match it, the one that agrees with the result in most
    other options, or None where no such case was measured. Where it names none: the first measured case.
    """
    rows = tuple(results)
    if named is None:
        return rows[0] if rows else None
    matching = [row for row in rows if named.matches(row.config)]
    return max(matching, key=lambda row: _agreement(row.config, result.config), default=None)


def _agreement(one: Config, other: Config) -> int:
    return sum(getattr(one, field) == getattr(other, field) for field in one.__struct_fields__)


def _with(config: Config, option: str, value: str) -> Config:
    return msgspec.structs.replace(config, **{option: value})


def _ratio(value: float, base: Result, new: Result, samples: float) -> Ratio:
    """A ratio with its bounds, widened to hold it: it is one of medians, they are of fastest steps."""
    by_steps = _bounded(value, base.steps_range_ms, new.steps_range_ms, samples)
    found = _over_rounds(value, base, new, samples) or _bounded(value, base.range_ms, new.range_ms, samples)
    return replace(found, contested=by_steps.verdict in (Verdict.FASTER, Verdict.SLOWER))


def _at_pace(ratio: Ratio | None, pace: tuple[float, float]) -> Ratio | None:
    if ratio is None or ratio.low is None or ratio.high is None:
        return ratio
    wider = replace(ratio, low=ratio.low / max(1.0, *pace), high=ratio.high / min(1.0, *pace))
    return replace(wider, contested=ratio.contested or wider.verdict is not ratio.verdict)


def _over_rounds(value: float, base: Result, new: Result, samples: float) -> Ratio | None:
    """A ratio with the 95% interval that the rounds' fastest steps give it; None where either case has too few.

    The interval is that of Mann and Whitney's test in its normal approximation: bounds by rank among the ratios
    of every round of one case to every round of the other (Hollander and Wolfe, Nonparametric Statistical
    Methods, section 4.3). Of three rounds, which carry 90% alone, all have to agree.
    """
    bases, news = base.metrics.rounds_least_ms, new.metrics.rounds_least_ms
    if min(len(bases), len(news)) < LEAST_ROUNDS or not all(news):
        return None
    ratios = sorted(samples * one / other for one in bases for other in news)
    spread = sqrt(len(ratios) * (len(bases) + len(news) + 1) / 12)
    beyond = max(floor(len(ratios) / 2 - 1.96 * spread) - 1, 0)
    return Ratio(value, min(value, ratios[beyond]), max(value, ratios[-1 - beyond]))


def _bounded(value: float, base: Range, new: Range, samples: float) -> Ratio:
    if base is None or new is None:
        return Ratio(value)
    low, high = _quotient(base[0], new[1]), _quotient(base[1], new[0])
    if low is None or high is None:
        return Ratio(value)
    return Ratio(value, min(value, samples * low), max(value, samples * high))


def _quotient(amount: float | None, by: float | None) -> float | None:
    return amount / by if amount is not None and by is not None and by > 0 else None

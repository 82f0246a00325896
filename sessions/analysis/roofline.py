"""How close a case comes to what its device can do, and what holds it back (the roofline model).

A step can't be shorter than its arithmetic at the peak rate of products, nor than its bytes at the peak rate
of copies (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009). The share of a step that its arithmetic
would take at the peak is known as model FLOPs utilisation (MFU).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, NamedTuple

from msgspec import structs

from benchtui.sessions.events import Peaks
from benchtui.sessions.payloads import Work
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config

Bound = Literal["arithmetic", "memory", "host"]

PRODUCTS = ("fp32", "tf32", "fp16", "bf16")
"""Precisions that a peak is measured in; autocast computes in one of them, int8 in none."""
LEAST_BUSY = 0.8
"""Share of a step in which a device must be at work; below it the host holds it back."""
LEAST_SHARE = 0.25
"""Share of a limit below which something else holds a step back, such as starting many small operations."""

OVER = "a case exceeded it, so it was measured on a disturbed machine and is no peak"
UNCOUNTED = "its step wasn't counted"
UNMEASURED = "its peaks weren't measured"
NEITHER = f"below {LEAST_SHARE:.0%} of both: something else takes most of a step"
EITHER = "arithmetic or memory: caches may save some of the bytes"


class PeakKey(NamedTuple):
    """What the peaks of a case depend on."""

    device: str
    precision: str
    """One of ``PRODUCTS``."""
    threads: int
    """As asked for; 0 is torch's default, and what every GPU has."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a step, as parts of 1; None where something they need is missing."""

    arithmetic: float | None
    """That its operations would take at the peak rate of products."""
    memory: float | None
    """That its bytes would take at the peak rate of copies: from above, and over 1 where caches serve."""
    weights: float | None
    """The same of the weights alone, which only the largest caches hold: from below."""
    busy: float | None
    """In which the device was at work; None on a processor."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A case against its limits."""

    work: Work
    peaks: Peaks | None
    step_ms: float
    """The median step, by the device's own clock where it has one."""
    flops_per_s: float | None
    bytes_per_s: float | None
    """What a step does and moves over its time; bytes from above, see ``Work.bytes_moved``."""
    shares: Shares
    bound: Bound | None
    """What holds the case back; None where that can't be said."""
    reason: str | None
    """Why it can't."""


def peak_key(config: Config) -> PeakKey | None:
    """Which peaks a case is held against; None for a precision without any."""
    precision = config.precision.removeprefix("amp-")
    if precision not in PRODUCTS:
        return None
    return PeakKey(config.device, precision, config.threads if config.device == "cpu" else 0)


def limit(case: CaseState, peaks: Iterable[Peaks]) -> Limit | None:
    """A case against the peaks of its session; None where nothing of its work was counted or asked for."""
    work, step_ms = case.finished.work if case.finished else None, _step_ms(case)
    if work is None or not step_ms:
        return None
    found = peaks_of(case, peaks)
    flops_per_s, bytes_per_s, weights_per_s = (
        None if amount is None else amount / step_ms * 1000
        for amount in (work.flops, work.bytes_moved, work.bytes_of_weights)
    )
    shares = Shares(
        arithmetic=_share(flops_per_s, found.flops_per_s if found else None),
        memory=_share(bytes_per_s, found.bytes_per_s if found else None),
        weights=_share(weights_per_s, found.bytes_per_s if found else None),
        busy=None if work.busy_ms is None else min(work.busy_ms / step_ms, 1.0),
    )
    bound = _bound(shares)
    reason = None if bound else _reason(shares, work, found)
    return Limit(work, found, step_ms, flops_per_s, bytes_per_s, shares, bound, reason)


def sound_peaks(cases: Iterable[CaseState], peaks: Sequence[Peaks]) -> tuple[Peaks, ...]:
    """The peaks of a session without the rates that one of its cases exceeded: such a rate is no peak.

    Bytes count as those of the weights alone, from below: more than the peak of these can't be a cache's doing.
    """
    over: list[tuple[Peaks, str]] = []
    for case in cases:
        found = limit(case, peaks)
        if found is None or found.peaks is None:
            continue
        shares = {"flops": found.shares.arithmetic, "bytes": found.shares.weights}
        over += [(found.peaks, name) for name, share in shares.items() if share is not None and share > 1]
    return tuple(_without(each, {name for peak, name in over if peak is each}) for each in peaks)


def _without(peaks: Peaks, over: set[str]) -> Peaks:
    """Peaks without these rates, with the reason."""
    gone: dict[str, None] = {f"{name}_per_s": None for name in over}
    absent = {**peaks.absent, **dict.fromkeys(over, OVER)}
    return structs.replace(peaks, **gone, absent=absent) if over else peaks


def _step_ms(case: CaseState) -> float | None:
    if case.figures:
        return (case.figures.device_ms or case.figures.latency_ms).median
    times_ms = case.measured.device_ms or case.measured.wall_ms
    return median(times_ms) if times_ms else None


def peaks_of(case: CaseState, peaks: Iterable[Peaks]) -> Peaks | None:
    """The newest ones told before the case ended: a session that was resumed has measured them again."""
    key = peak_key(case.config)
    own = [each for each in peaks if each.node == case.node]
    known = [each for each in own if (each.device, each.precision, each.threads) == key]
    before = [each for each in known if case.finished is None or each.t <= case.finished.t]
    return next(reversed(before or known), None)


def _share(rate: float | None, peak: float | None) -> float | None:
    return rate / peak if rate is not None and peak else None


def _bound(shares: Shares) -> Bound | None:
    """The limit that a step is nearest to, where what was counted leaves no doubt."""
    if shares.busy is not None and shares.busy < LEAST_BUSY:
        return "host"
    arithmetic, memory, weights = shares.arithmetic, shares.memory, shares.weights
    if arithmetic is None or memory is None or not max(arithmetic, memory) >= LEAST_SHARE or arithmetic > 1:
        return None
    if arithmetic >= memory:
        return "arithmetic"
    return "memory" if weights is not None and weights >= arithmetic else None


def _reason(shares: Shares, work: Work, peaks: Peaks | None) -> str:
    """Why no limit can be named."""
    if shares.arithmetic is not None and shares.memory is not None:
        if shares.arithmetic > 1:
            return OVER
        return NEITHER if max(shares.arithmetic, shares.memory) < LEAST_SHARE else EITHER
    if work.flops is None or work.bytes_moved is None:
        return _first(work.absent) or UNCOUNTED
    return f"peak not measured: {_first(peaks.absent) or UNMEASURED}" if peaks else UNMEASURED


def _first(reasons: dict[str, str]) -> str | None:
    """The first reason why flops or bytes are absent."""
    return next((reasons[name] for name in ("flops", "bytes") if name in reasons), None)

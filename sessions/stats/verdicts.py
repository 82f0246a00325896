"""Verdicts: the conclusion that the bounds of a ratio allow, and the reason for a doubt."""

from collections.abc import Callable
from enum import StrEnum
from math import inf, log, sqrt
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from benchtui.sessions.stats.noise import SHARE
from benchtui.sessions.stats.quantiles import student_t_quantile
from benchtui.sessions.stats.sampling import LEAST_ROUNDS, Bounds

MIN_EFFECT = 0.005
"""Minimum distance of a whole interval from 1 for FASTER or SLOWER. Less isn't worth reporting."""
MOST_ROUNDS = 100
"""Maximum number of rounds to recommend."""
CHANCE = 0.8
"""Probability with which the recommended rounds decide a ratio."""
FIRST_ROUNDS = 5
"""Recommended rounds for a case whose process-to-process variation isn't known yet. At a spread of 1%, they
distinguish 5% in 98 of 100 sessions (BENCHMARKS.md)."""


class Verdict(StrEnum):
    """Conclusion that a ratio allows."""

    FASTER = "faster"
    SLOWER = "slower"
    """The whole interval lies beyond 0.5%: 99% for typical steps, and 95% for fast ones."""
    SAME = "same"
    """The whole 95% interval lies within the margin of equivalence."""
    UNSURE = "unsure"
    """None of the above."""
    REPORTED = "reported"
    """As reported by sources that kept no steps, so that it can't be tested."""


UNTESTED = (Verdict.UNSURE, Verdict.REPORTED)
"""Verdicts that another measurement may settle."""
VerdictName = Literal["FASTER", "SLOWER", "SAME", "UNSURE", "REPORTED"]
"""Verdict as all documents for programs spell it."""


class Doubt(StrEnum):
    """Reason for an UNSURE verdict."""

    NO_INTERVAL = "no interval"
    """Too few steps, or a source that kept none."""
    WIDE = "wide"
    """The interval allows more than one verdict."""
    STEPS = "steps"
    """Typical and fast steps disagree."""
    TOTALS = "totals"
    """Typical steps and the total time of all steps disagree."""
    FILES = "files"
    """The cases used different versions of files."""
    OUTSIDE = "outside"
    """Something outside the cases may explain the difference."""


class Ratio(msgspec.Struct, frozen=True):
    """Speedup of a new case over its base; above 1 it is faster."""

    value: float
    bounds: Bounds | None = None
    """Ratio of typical steps with its intervals, widened by the effects in ``outside``; None if nothing bounds
    them."""
    fast: Bounds | None = None
    """Ratio of first quartiles; None if no steps were kept."""
    totals: Bounds | None = None
    """Ratio of mean steps, which determine throughput over all steps."""
    inner: Bounds | None = None
    """Bounds before widening; None if nothing outside the cases widened them."""
    outside: tuple[str, ...] = ()
    """Causes outside the two cases that may explain a difference."""
    same_within: float = 0.0
    """Margin of equivalence."""
    between: float | None = None
    """Relative standard deviation between processes behind the bounds."""
    moderated: bool = False
    """Whether the cases of the session share that spread, which is then known better than by two cases."""
    assumed: bool = False
    """Whether that spread is an assumption, because too little was measured."""
    rounds: int = 0
    """Number of rounds of the case that has fewer; with ``by_turns``, of those in which they took turns."""
    by_turns: bool = False
    """Whether the two cases took turns, so that the pace of the machine cancels out."""
    floor: float = 0.0
    """Minimum half-width in log units, from the session's noise floor. More rounds don't reduce it."""
    apart: float = 0.0
    """Variance between two sessions. More rounds don't reduce it."""
    reported: bool = False
    """Whether it follows from what sources without steps reported."""
    unlike_files: bool = False
    """Whether files of step, model or dataset changed between the cases, or between rounds of one."""

    @property
    def shown(self) -> float | None:
        """The value; None if something outside the cases may have changed it by any amount."""
        return None if self.bounds is None and self.outside else self.value

    @property
    def low(self) -> float | None:
        """Lower bound of the 95% interval; None without an interval."""
        return self.bounds.low if self.bounds else None

    @property
    def high(self) -> float | None:
        """Upper bound of the 95% interval; None without an interval."""
        return self.bounds.high if self.bounds else None

    @property
    def sure_low(self) -> float | None:
        """Lower bound of the 99% interval; None without an interval."""
        return self.bounds.sure_low if self.bounds else None

    @property
    def sure_high(self) -> float | None:
        """Upper bound of the 99% interval; None without an interval."""
        return self.bounds.sure_high if self.bounds else None

    @property
    def verdict(self) -> Verdict:
        """Verdict that the bounds support; UNSURE if there is a doubt, REPORTED if a source left no bounds."""
        if self.reported and self.doubt is Doubt.NO_INTERVAL:
            return Verdict.REPORTED
        return _word(self.bounds, self.same_within) if self.bounds and not self.doubt else Verdict.UNSURE

    @property
    def doubt(self) -> Doubt | None:
        """Reason for an UNSURE verdict; None for any other."""
        if self.unlike_files:
            return Doubt.FILES
        if self.bounds is None:
            return Doubt.OUTSIDE if self.outside else Doubt.NO_INTERVAL
        own, margin = _word(self.bounds, self.same_within), self.same_within
        if own is Verdict.UNSURE:
            widened = self.inner is not None and _word(self.inner, margin) is not Verdict.UNSURE
            return Doubt.OUTSIDE if widened else Doubt.WIDE
        if self.fast is not None and (fast_doubt := _doubt_from_fast_steps(own, self.fast, margin)):
            return fast_doubt
        if self.totals is not None and _contradicts(own, self.totals, margin):
            return Doubt.TOTALS
        return None

    @property
    def is_within_margin(self) -> bool:
        """Whether the whole 95% interval lies within the margin, however sure a difference is."""
        return self.bounds is not None and _inside(self.bounds, self.same_within)

    @property
    def leaning(self) -> Verdict | None:
        """Direction in which the 95% interval lies, though the 99% interval, which decides, doesn't."""
        if self.bounds is None or _beyond(self.bounds.sure_low, self.bounds.sure_high):
            return None
        return _beyond(self.bounds.low, self.bounds.high)

    @property
    def has_wide_fast_steps(self) -> bool:
        """Whether only the interval of fast steps is too wide for a difference that typical ones show."""
        if self.bounds is None or self.doubt is not Doubt.WIDE:
            return False
        return _word(self.bounds, self.same_within) is not Verdict.UNSURE

    @property
    def resolution(self) -> float | None:
        """Smallest difference that would have been detected, as a share (0.38 is 38%)."""
        if self.bounds is None or not self.value > 0 or not self.bounds.sure_low > 0:
            return None
        sure = max(self.bounds.sure_high / self.value, self.value / self.bounds.sure_low)
        return sure * (1 + MIN_EFFECT) - 1

    @property
    def rounds_wanted(self) -> int | None:
        """Rounds of each case that would decide a ratio like this one; None if no number would.

        The probability of that is ``CHANCE``, because the ratio varies by chance between sessions. More rounds
        don't help if something outside the cases may explain the difference.
        """
        if self.doubt is not Doubt.WIDE or self.outside or not self.between or not self.value > 0:
            return None
        off, margin = abs(log(self.value)), log(1 + self.same_within)
        for rounds in range(max(LEAST_ROUNDS, self.rounds + 1), MOST_ROUNDS + 1):
            own = self.between**2 * 2 / rounds
            freedom = (rounds - 1) * (1 if self.by_turns else 2) / (1 - SHARE if self.moderated else 1)
            bounds = Bounds.around(0.0, sqrt(own), freedom, self.floor).with_error(sqrt(self.apart))
            below, aside = (
                student_t_quantile(probability, freedom) * sqrt(own + self.apart)
                for probability in (CHANCE, (1 + CHANCE) / 2)
            )
            if off - log(bounds.sure_high) - below > log(1 + MIN_EFFECT):
                return rounds
            if off + log(bounds.high) + aside < margin:
                return rounds
        return None

    @property
    def next_rounds(self) -> int | None:
        """Rounds of each case to measure next; None if no number would decide the ratio.

        A few rounds measure the spread between processes where it is assumed, or of fewer than three rounds.
        """
        if self.assumed and self.doubt is Doubt.WIDE and not self.outside:
            return max(FIRST_ROUNDS, self.rounds + 1)
        wanted = self.rounds_wanted
        return FIRST_ROUNDS if wanted and self.rounds < LEAST_ROUNDS else wanted

    def times(self, factor: float) -> "Ratio":
        """Return the ratio with all values multiplied by a factor."""
        inner = self.inner and self.inner.times(factor)
        return self._changed(lambda bounds: bounds.times(factor), value=self.value * factor, inner=inner)

    def _changed(self, change: Callable[[Bounds], Bounds], **others: Any) -> "Ratio":  # noqa: ANN401
        bounds = {name: getattr(self, name) for name in ("bounds", "fast", "totals")}
        return replace(self, **{name: one and change(one) for name, one in bounds.items()}, **others)

    def widened(self, down: float, up: float, *why: str) -> "Ratio":
        """Return the ratio with its bounds widened for a cause outside the cases.

        ``down`` and ``up`` are the most by which that cause may have changed the ratio in either direction. If
        nothing limits that, the ratio has no bounds.
        """
        outside = tuple(dict.fromkeys((*self.outside, *why)))
        if max(down, up) == inf:
            return replace(self, bounds=None, fast=None, totals=None, outside=outside)
        if self.bounds is None or max(down, up) <= 1:
            return self
        inner = self.inner or self.bounds
        return self._changed(
            lambda bounds: bounds.wider(max(down, 1.0), max(up, 1.0)), inner=inner, outside=outside
        )


def _word(bounds: Bounds, same_within: float) -> Verdict:
    """Return the verdict that one set of bounds supports."""
    if direction := _beyond(bounds.sure_low, bounds.sure_high):
        return direction
    return Verdict.SAME if _inside(bounds, same_within) else Verdict.UNSURE


def _inside(bounds: Bounds, same_within: float) -> bool:
    return bounds.low >= 1 / (1 + same_within) and bounds.high <= 1 + same_within


def _beyond(low: float, high: float) -> Verdict | None:
    """Return the direction in which a whole interval lies beyond the minimum effect, if it does."""
    if low > 1 + MIN_EFFECT:
        return Verdict.FASTER
    return Verdict.SLOWER if high < 1 / (1 + MIN_EFFECT) else None


def _doubt_from_fast_steps(own: Verdict, fast: Bounds, same_within: float) -> Doubt | None:
    """Return the doubt that fast steps cast on a verdict: STEPS if they disagree, WIDE if they are unsure.

    They confirm a direction that is already sure, for which a 95% interval suffices.
    """
    if own is Verdict.SAME:
        within = 1 / (1 + same_within) <= fast.value <= 1 + same_within
        return Doubt.STEPS if _beyond(fast.sure_low, fast.sure_high) or not within else None
    if _beyond(fast.low, fast.high) is own:
        return None
    alike = fast.value > 1 + MIN_EFFECT if own is Verdict.FASTER else fast.value < 1 / (1 + MIN_EFFECT)
    return Doubt.WIDE if alike and _word(fast, same_within) is Verdict.UNSURE else Doubt.STEPS


def _contradicts(own: Verdict, totals: Bounds, same_within: float) -> bool:
    """Return whether the total time contradicts a verdict by more than the margin of equivalence."""
    faster, slower = totals.value > 1 + same_within, totals.value < 1 / (1 + same_within)
    against = {Verdict.FASTER: slower, Verdict.SLOWER: faster, Verdict.SAME: faster or slower}
    return against.get(own, False)

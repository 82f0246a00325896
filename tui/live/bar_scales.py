"""Scales of the bars in the case table: the highest throughput shown, and the range of ratios."""

from math import isfinite

from benchtui.sessions.sweep import Work

LEAST_SPAN = 1.5
"""Smallest ratio at the end of a ratio's bar, so that small differences look small."""


class BarScales:
    """Right ends of the bars."""

    def __init__(self) -> None:
        self.most_rate: float | None = None
        """Highest throughput of all cases in samples/s, also of those still running."""
        self.span = LEAST_SPAN
        """Largest ratio of two throughputs of the same work, and of any to its baseline."""
        self._ranges: dict[Work, tuple[float, float]] = {}
        """Lowest and highest positive throughput, by work."""

    def add_measured(self, work: Work, rate: float | None) -> None:
        """Widen the scales for the throughput of a case that has ended, or of its rounds so far."""
        if rate is None or not isfinite(rate):
            return
        self.widen(rate)
        if rate > 0:
            least, most = self._ranges.get(work, (rate, rate))
            least, most = self._ranges[work] = min(least, rate), max(most, rate)
            self.span = max(self.span, most / least)

    def widen(self, rate: float) -> bool:
        """Widen the scale of throughputs to this one. Return whether it was higher than all before."""
        higher = self.most_rate is None or rate > self.most_rate
        self.most_rate = rate if higher else self.most_rate
        return higher

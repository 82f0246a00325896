"""Stop rule: decides from the steps so far when measuring ends."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from array import array
from collections import deque
from math import sqrt

import msgspec

from benchtui.engine.devices.base import StepTime
from benchtui.engine.worker.warmup import steps_reason
from benchtui.sessions.estimates.stop_limits import (
    AUTO_DEVICE_PERCENT,
    AUTO_HOST_PERCENT,
    AUTO_MOST_STEPS,
    CHECK_MS,
    NOISY_MS,
    TIME_LIMIT,
    least_steps,
    longest_s,
)
from benchtui.sessions.stats.distribution import distribution
from benchtui.sessions.sweep import Measure

SETTLED_VALUES = 64
SETTLED_WITHIN = 0.05
"""Noise has settled once this many estimates are this close to the newest (NVBench, stdrel_criterion.cxx)."""

CHECK_GROWTH = 1.02
"""Growth factor in steps after which the interval is computed again: it sorts all steps so far."""


class RunningSpread(msgspec.Struct):
    """Spread of a growing sample, updated cheaply per value."""

    times_ms: array[float] = msgspec.field(default_factory=lambda: array("d"))
    noise: deque[float] = msgspec.field(default_factory=lambda: deque(maxlen=SETTLED_VALUES))
    """Latest estimates of the relative standard deviation."""
    mean: float = 0.0
    _squares: float = 0.0
    """Sum of squared deviations from the mean (Welford's method)."""

    def add(self, value: float) -> None:
        """Add a value."""
        self.times_ms.append(value)
        before = value - self.mean
        self.mean += before / len(self.times_ms)
        self._squares += before * (value - self.mean)
        if self.relative_std is not None:
            self.noise.append(self.relative_std)

    @property
    def relative_std(self) -> float | None:
        """Standard deviation divided by the mean. None for fewer than two values."""
        n = len(self.times_ms)
        return sqrt(self._squares / (n - 1)) / self.mean if n > 1 and self.mean > 0 else None

    @property
    def interval_percent(self) -> float | None:
        """Half-width of the median's 95% interval, in percent of the median. None below 6 values."""
        spread = distribution(self.times_ms)
        return spread.interval_percent if spread else None

    @property
    def settled(self) -> bool:
        """Whether the noise estimate no longer changes."""
        if len(self.noise) < SETTLED_VALUES:
            return False
        newest = self.noise[-1]
        return all(abs(noise - newest) <= SETTLED_WITHIN * newest for noise in self.noise)


class StopRule:
    """Rule that decides when measuring ends, and why."""

    def __init__(self, rules: Measure, enough_percent: float) -> None:
        """``enough_percent`` is the error of the median that suffices for ``iterations = "auto"``."""
        self._rules = rules
        self._enough_percent = enough_percent
        self._min_steps = least_steps(rules)
        self._max_s = longest_s(rules)
        self._by_count = not (rules.until_auto or rules.until_error or rules.until_percent is not None)
        self._measured_ms = self._checked_ms = self._device_ms = 0.0
        self._steps = self._checked_steps = 0
        self._host, self._device = RunningSpread(), RunningSpread()

    def reason(self, time: StepTime, elapsed_s: float) -> str | None:
        """Add a step and return the reason to stop now, or None.

        ``elapsed_s`` is the time from the start of measuring to the end of the step.
        """
        self._steps += 1
        self._measured_ms += time.wall_ms
        self._device_ms += time.device_or_host_ms
        if not self._by_count:
            self._host.add(time.wall_ms)
            if time.device_ms is not None:
                self._device.add(time.device_ms)
        return self._target_reason() or self._limit_reason(elapsed_s)

    def _target_reason(self) -> str | None:
        if self._steps < self._min_steps or self._device_ms < 1000 * (self._rules.min_time_s or 0.0):
            return None
        if self._rules.until_auto:
            return self._auto_reason()
        if self._rules.until_error:
            return self._error_reason()
        if self._by_count:
            return steps_reason(self._rules.iterations, self._steps, self._rules.min_time_s)
        if self._measured_ms - self._checked_ms < CHECK_MS:
            return None
        self._checked_ms = self._measured_ms
        return self._narrow_reason(self._rules.until_percent or 0.0)

    def _limit_reason(self, elapsed_s: float) -> str | None:
        if self._max_s is not None and elapsed_s >= self._max_s:
            return f"{TIME_LIMIT} of {self._max_s:g} s"
        if self._rules.until_auto and self._steps >= AUTO_MOST_STEPS:
            return f"limit of {AUTO_MOST_STEPS} steps"
        return None

    def _auto_reason(self) -> str | None:
        timed = self._timed
        if timed.mean * self._steps < CHECK_MS:
            return None
        if enough := self._narrow_reason(AUTO_HOST_PERCENT) if timed is self._host else self._steady_reason():
            return enough
        noise = timed.relative_std
        if noise is not None and timed.settled:
            return f"inherently noisy: deviation settled at {100 * noise:.1f}% after {self._steps} steps"
        return None

    def _error_reason(self) -> str | None:
        """Return why the error suffices, or why a noisy round ends nevertheless."""
        if self._measured_ms < CHECK_MS or not self._check_due():
            return None
        error, limit, after = self._timed.interval_percent, self._enough_percent, f"after {self._steps} steps"
        if error is not None and error <= limit:
            return f"error of the median within ±{limit:.2g}%, the spread between processes, {after}"
        if self._measured_ms < NOISY_MS:
            return None
        twice = f"±{2 * limit:.2g}%, twice the spread between processes, {after}"
        if error is not None and error <= 2 * limit:
            return f"error of the median within {twice}"
        noisy = self._steps >= self._rules.iterations
        return f"error of the median still above {twice}" if noisy else None

    def _check_due(self) -> bool:
        """Whether enough steps have been added since the last check to sort all of them again."""
        if self._steps < CHECK_GROWTH * self._checked_steps:
            return False
        self._checked_steps = self._steps
        return True

    @property
    def _timed(self) -> RunningSpread:
        """Times on the device if it has a clock of its own, otherwise on the host."""
        return self._device if len(self._device.times_ms) == self._steps else self._host

    def _steady_reason(self) -> str | None:
        noise = self._device.relative_std
        if noise is None or 100 * noise >= AUTO_DEVICE_PERCENT:
            return None
        return f"standard deviation below {AUTO_DEVICE_PERCENT:g}% after {self._steps} steps"

    def _narrow_reason(self, until_percent: float) -> str | None:
        if not self._check_due():
            return None
        width = self._host.interval_percent
        if width is None or width > until_percent:
            return None
        return f"interval of the median within ±{until_percent:g}% after {self._steps} steps"

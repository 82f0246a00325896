"""Parameters of the stop rules, which the worker applies and the ETA assumes."""

from collections.abc import Mapping

from benchtui.sessions.payloads import ProcessSpread
from benchtui.sessions.stats.noise import PACES, noise_by_kind
from benchtui.sessions.sweep import Measure

CHECK_MS = 500.0
"""Minimum measured time before the width of an interval counts."""
LEAST_WARMUP_STEPS = 3
"""Minimum steps of ``warmup = "auto"``."""
SETTLED_MS = 250.0
"""Time of the warm-up from which two equal steps end it: a window of eight takes longer if steps are slow."""
LEAST_STEPS = 6
"""Minimum steps of ``iterations = "auto"``. Fewer have no 95% interval of the median."""
NOISY_MS = 2000.0
"""Measured time from which ``iterations = "auto"`` accepts a standard error as large as the spread between
processes, or gives up on a noisy round. Before, the 95% interval has to be within the spread."""
TURNS_S = 2.0
"""Seconds per worker after which their turns suffice. Several short pairs of processes decide more than a
long one: quotients of their steps varied by 8% on a virtual machine, so that a pair of 25 turns has an error of
2%, and the more pairs there are, the better their spread is known."""
AUTO_LEAST_STEPS = 10
AUTO_MOST_STEPS = 10_000
AUTO_MOST_S = 60.0
"""Limits of ``until = "auto"``; ``max_time`` replaces the time limit."""
AUTO_DEVICE_PERCENT = 0.5
"""Standard deviation over the mean, in percent, that is narrow enough on a device with its own clock."""
AUTO_HOST_PERCENT = 1.0
"""Half-width of the 95% interval over the median, in percent, that is narrow enough on the host."""

TIME_LIMIT = "time limit"
"""Prefix of the recorded reason if the time limit ended a measurement."""


def longest_s(rules: Measure) -> float | None:
    """Return the time limit for measuring a case, in seconds; None without one.

    If the sweep sets none, an unreachable interval width ends the round before it becomes a timeout.
    """
    if rules.max_time_s is not None:
        return rules.max_time_s
    half_s = rules.timeout_s / 2
    if rules.until_auto:
        return min(AUTO_MOST_S, half_s)
    return half_s if rules.until_percent is not None else None


def least_steps(rules: Measure) -> int:
    """Return the minimum measured steps of a round before anything but a limit ends it."""
    if rules.until_error:
        return LEAST_STEPS
    return max(rules.iterations, AUTO_LEAST_STEPS if rules.until_auto else 0)


def enough_percent(earlier: Mapping[str, ProcessSpread], device: str) -> float:
    """Return the error of a round, in percent of its median, below which more steps decide little.

    It is the spread between processes that is known of the machine. One that isn't known, or that comes from
    processes at distinct paces, is replaced by the largest spread around a single pace.
    """
    noise = noise_by_kind((), None, dict(earlier))
    return 100 * min(noise[device.partition(":")[0]].between, PACES)


def wanted_percent(rules: Measure, on_host: bool) -> float | None:
    """Return the interval's half-width over the median that ends a round; None if another rule does."""
    if rules.until_auto:
        return AUTO_HOST_PERCENT if on_host else None
    return rules.until_percent

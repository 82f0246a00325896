"""Parameters of the stop rules, which the worker applies and the ETA assumes."""

from benchtui.sessions.sweep import Measure

CHECK_MS = 500.0
"""Minimum measured time before the width of an interval counts."""
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
    return max(rules.iterations, AUTO_LEAST_STEPS if rules.until_auto else 0)


def wanted_percent(rules: Measure, on_host: bool) -> float | None:
    """Return the interval's half-width over the median that ends a round; None if another rule does."""
    if rules.until_auto:
        return AUTO_HOST_PERCENT if on_host else None
    return rules.until_percent

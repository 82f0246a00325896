"""The figures of the rules by which measuring ends: the worker obeys them, and a forecast counts on them."""

from benchtui.sessions.sweep import Measure

CHECK_MS = 500.0
"""The least time measured before the width of an interval counts."""
AUTO_LEAST_STEPS = 10
AUTO_MOST_STEPS = 10_000
AUTO_MOST_S = 60.0
"""The limits of ``until = "auto"``; ``max_time`` replaces that of time."""
AUTO_DEVICE_PERCENT = 0.5
"""Standard deviation over the mean that is narrow enough on a device with a clock of its own."""
AUTO_HOST_PERCENT = 1.0
"""Half the 95% interval over the median that is narrow enough on the host."""


def longest_s(rules: Measure) -> float | None:
    """How long a case may be measured: as the sweep says, else so that a width out of reach isn't a timeout."""
    if rules.max_time_s is not None:
        return rules.max_time_s
    half_s = rules.timeout_s / 2
    if rules.until_auto:
        return min(AUTO_MOST_S, half_s)
    return half_s if rules.until_percent is not None else None


def least_steps(rules: Measure) -> int:
    """Measured steps of a round before anything but a limit ends it."""
    return max(rules.iterations, AUTO_LEAST_STEPS if rules.until_auto else 0)


def wanted_percent(rules: Measure, on_host: bool) -> float | None:
    """Half the interval's width over the median at which a round ends; None where another rule ends it."""
    if rules.until_auto:
        return AUTO_HOST_PERCENT if on_host else None
    return rules.until_percent

"""Time in which a device was at work, out of what a profiler saw of it."""

from collections.abc import Iterable


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Length of the union of spans, each from its begin to its end: what runs at once counts once."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total

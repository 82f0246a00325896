"""95% intervals of a case's metrics as text."""

from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.formatting import number, span


def rate_interval(result: Result) -> str | None:
    """Format the interval of a throughput in samples/s."""
    found = result.metrics
    return span(number(found.samples_per_s_low), number(found.samples_per_s_high))


def energy_interval(result: Result) -> str | None:
    """Format the interval of the energy in J/sample."""
    found = result.metrics
    return span(number(found.energy_per_sample_low_j), number(found.energy_per_sample_high_j))

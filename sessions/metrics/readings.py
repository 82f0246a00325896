"""Readings of quantities: where each kind of value is recorded, and how to read it from a case."""

from collections.abc import Callable
from operator import attrgetter

from benchtui.sessions.metrics.quantity import CaseData, Reading
from benchtui.sessions.payloads import FIELD_NAMES
from benchtui.sessions.sweep.options import COVERED_BY_LABEL

STEPS = "steps.wall_ms"


def of_case(source: str, field: str) -> Reading:
    """Read a field of the case."""
    value: Callable[[object], object] = attrgetter(field)
    return Reading(source, lambda data: value(data.case))


def requested(name: str) -> Reading:
    """Read a requested option; None if another tool's label covers it. Of several models, each is known."""

    def value(data: CaseData) -> object:
        config = data.case.config
        covered = config.label and name in COVERED_BY_LABEL and not (name == "model" and config.model)
        return None if covered else getattr(config, name)

    return Reading("session_started.plan", value)


def finished(field: str) -> Reading:
    """Read a field of the end of the case."""
    return Reading(f"case_finished.{field}", lambda data: getattr(data.case.finished, field, None))


def at_end(path: str) -> Reading:
    """Read a field of a record at the end of the case, such as ``memory.peak_rss_mb``."""
    record, field = path.split(".")
    return Reading(
        f"case_finished.{path}", lambda data: getattr(getattr(data.case.finished, record, None), field, None)
    )


def environment(field: str) -> Reading:
    """Read a condition on the machine while the case was measured, by its name in the file."""
    return Reading(
        f"case_finished.environment.{field}",
        lambda data: getattr(
            getattr(data.case.finished, "environment", None), FIELD_NAMES.get(field, field), None
        ),
    )


def applied(field: str) -> Reading:
    """Read an option that was applied, as read back by the worker."""
    return Reading(f"case_prepared.effective.{field}", lambda data: getattr(data.case.effective, field, None))


def actual(name: str) -> Reading:
    """Read an applied option that has no field of its own."""

    def value(data: CaseData) -> object:
        return data.case.effective.others.get(name) if data.case.effective else None

    return Reading("case_prepared.effective.others", value)


def measured(field: str, source: str = STEPS) -> Reading:
    """Read a metric of the case."""
    return Reading(source, lambda data: getattr(data.metrics, field, None))


def latency(field: str) -> Reading:
    """Read a statistic of the step time."""
    return spread("latency_ms", field, STEPS)


def spread(metric: str, field: str, source: str) -> Reading:
    """Read a statistic of a distribution of times."""
    return Reading(source, lambda data: getattr(getattr(data.metrics, metric, None), field, None))


def of_requests(metric: str, field: str) -> Reading:
    """Read a high percentile of the times of requests; None for a task that doesn't time them one by one."""
    of_all = spread(metric, field, "steps.requests")

    def value(data: CaseData) -> object:
        timed = data.metrics is not None and data.metrics.task.sample == "requests"
        return of_all.value(data) if timed else None

    return Reading(of_all.source, value)


def result(field: str, source: str = STEPS) -> Reading:
    """Read a property of the result."""
    return Reading(source, lambda data: getattr(data.result, field, None))


def typical_bounds(field: str) -> Reading:
    """Read an end or the half-width of the interval of the typical step."""
    return Reading(STEPS, lambda data: getattr(data.result and data.result.typical_bounds, field, None))


def ratio(field: str) -> Reading:
    """Read a property of the ratio to the baseline."""
    return Reading(STEPS, lambda data: getattr(data.ratio, field, None))


def answer(field: str) -> Reading:
    """Read the comparison of the case's answer with its baseline's."""
    return Reading(f"answered.comparisons.{field}", lambda data: getattr(data.case.comparison, field, None))


def in_percent(share: Reading) -> Reading:
    """Convert a share of 1 to percent."""

    def value(data: CaseData) -> float | None:
        fraction = share.value(data)
        return 100 * fraction if isinstance(fraction, (int, float)) else None

    return Reading(share.source, value)


def inverse(rate: Reading, scale: float = 1) -> Reading:
    """Convert a rate to the time, or whatever else, per unit: ``scale`` over the rate; None for a rate of 0."""

    def value(data: CaseData) -> float | None:
        rate_value = rate.value(data)
        return scale / rate_value if isinstance(rate_value, (int, float)) and rate_value else None

    return Reading(rate.source, value)


def as_text(words: Reading) -> Reading:
    """Convert a member of an enumeration to its text."""

    def value(data: CaseData) -> str | None:
        member = words.value(data)
        return str(member) if member else None

    return Reading(words.source, value)


def computed(source: str, value: Callable[[CaseData], object]) -> Reading:
    """Compute a value from several recorded ones; ``source`` is the main one."""
    return Reading(source, value)

"""Finding: a computed statement about the time or memory of a step, with its bound and its remedy."""

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.sweep import named_values
from benchtui.sessions.text.formatting import number, percent

Confidence = Literal["high", "medium", "low"]
Remedy = Mapping[str, str | int]

APPLIED_TO_OWN_STEPS = {"threads", "tokenizer_threads", "env", "parameters"}
"""Options that the engine applies to a step of the user's."""


class Finding(msgspec.Struct, frozen=True):
    """A computed statement about a case."""

    rule: str
    """Name of its rule."""
    sentence: str
    confidence: Confidence
    """``high`` if measured directly, ``medium`` if another cause is possible, ``low`` for a hint."""
    ms: float | None = None
    """Time per step that the finding concerns; None if it isn't about time."""
    bound_s: float | None = None
    """Upper bound of the time that removing the cause saves per measured step; None if it isn't about time."""
    expected_s: float | None = None
    """Time that the remedy is expected to save per measured step; None if the profile doesn't say."""
    remedy: Remedy | None = None
    """Options of a case that remove or reduce the cause, with their values; None if no option does."""


Rule = Callable[[ExplainedCase], Finding | None]


def timed(
    case: ExplainedCase,
    rule: str,
    sentence: str,
    confidence: Confidence,
    ms: float,
    *,
    saves_ms: float | None = None,
    expected_ms: float | None = None,
    remedy: Remedy | None = None,
) -> Finding:
    """Return a finding about a time of the profiled step.

    ``saves_ms`` is the most of it that can be saved, ``expected_ms`` what the remedy is expected to save.
    """
    most_ms = ms if saves_ms is None else saves_ms
    applied = remedy if remedy and _applies(case, remedy) else None
    expected_s = None
    if applied and expected_ms is not None:
        expected_s = _in_step_s(case, max(0.0, min(expected_ms, most_ms)))
    return Finding(rule, sentence, confidence, ms, _in_step_s(case, most_ms), expected_s, applied)


def of_program(
    case: ExplainedCase, rule: str, sentence: str, ms: float, *, remedy: Remedy | None = None
) -> Finding:
    """Return a finding about the program, which holds even where the breakdown isn't that of measured steps."""
    if case.differs:
        return Finding(rule, sentence, "high", remedy=remedy if remedy and _applies(case, remedy) else None)
    return timed(case, rule, sentence, "high", ms, remedy=remedy)


def _in_step_s(case: ExplainedCase, ms: float) -> float:
    """Return a time of the profiled step as one of the measured step."""
    step_ms = case.profile.step_ms
    whole_ms = case.profile.plain_ms if case.measured_ms is None else case.measured_ms
    return round((min(1.0, ms / step_ms) if step_ms else 0.0) * whole_ms / 1000, 9)


def _applies(case: ExplainedCase, remedy: Remedy) -> bool:
    """Return whether the engine applies these options. A step of the user's applies most of them itself."""
    prepared = case.case.prepared
    return prepared is None or prepared.task is not None or remedy.keys() <= APPLIED_TO_OWN_STEPS


def in_profile(case: ExplainedCase, plain_ms: float) -> float:
    """Scale a time of a plain step to the profiled step, with which all findings are compared.

    Next to a neighbor, work takes the same time in a profiled step without the waits of plain ones.
    """
    host, step_ms = case.profile.host, case.profile.step_ms
    whole_ms = max(case.mean_undelayed_ms, min(host.step_ms, step_ms)) if host else 0.0
    return min(plain_ms / whole_ms, 1.0) * step_ms if whole_ms else 0.0


def with_variables(case: ExplainedCase, variables: Mapping[str, str]) -> Remedy:
    """Return the remedy that adds environment variables to those of the case."""
    return {"env": named_values.text_of(named_values.texts(case.case.config.env) | dict(variables))}


def with_parameter(case: ExplainedCase, name: str, value: int) -> Remedy:
    """Return the remedy that changes a parameter of the user's step."""
    parameters = named_values.texts(case.case.config.parameters)
    return {"parameters": named_values.text_of(parameters | {name: str(value)})}


def of_step(case: ExplainedCase, ms: float) -> str:
    """Format a time of the profiled step with its share: ``40% of the step (8.00 ms)``."""
    return f"{percent_text(ms / case.profile.step_ms)} of the step ({ms_text(ms)})"


def of_plain_step(case: ExplainedCase, ms: float) -> str:
    """Format a time that was measured without the profiler, given in proportion to the profiled step."""
    share = ms / case.profile.step_ms
    return f"{percent_text(share)} of the step ({ms_text(share * case.profile.plain_ms)})"


def percent_text(share: float) -> str:
    """Format a share in whole percent."""
    return f"{percent(share, 0)}%"


def ms_text(value: float | None) -> str:
    """Format milliseconds."""
    return f"{number(value)} ms"

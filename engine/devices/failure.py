"""Failures after a case has succeeded, or apart from cases: the reason why a metric is absent, in one line."""

from collections.abc import Callable
from typing import TypeVar

from benchtui.engine.devices import oom
from benchtui.engine.exception_text import described, text_of
from benchtui.sessions.errors import BenchtuiError

T = TypeVar("T")


def failure_reason(device: str, error: Exception) -> str:
    """Return the reason for a failure on a device: out of memory, or what was raised."""
    if isinstance(error, BenchtuiError):
        return text_of(error)
    return oom.reason(device, error) or described(error)


def result_or_reason(device: str, measure: Callable[[], T]) -> T | str:
    """Return the result of ``measure``, or the reason why it failed."""
    try:
        return measure()
    except Exception as error:  # noqa: BLE001  (model or user code, or whatever torch raises)
        return failure_reason(device, error)

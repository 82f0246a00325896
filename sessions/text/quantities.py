"""Quantities of the catalogue as text: values, and columns of tables."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from benchtui.sessions.metrics.catalogue import quantity
from benchtui.sessions.metrics.quantity import CaseData, Format, Quantity
from benchtui.sessions.metrics.views import View, interval
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.answers import nats
from benchtui.sessions.text.formatting import (
    capitalized,
    half_width,
    loss,
    memory,
    number,
    percent,
    percentage,
    span,
)
from benchtui.sessions.text.tables import Column

T = TypeVar("T")
NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})

FORMATS: dict[Format, Callable[[Any], str | None]] = {
    "significant": number,
    "whole": lambda value: number(value, 0),
    "nonzero": lambda value: number(value or None, 0),
    "percent": percentage,
    "half width": half_width,
    "memory": number,
    "memory with unit": memory,
    "loss": loss,
    "nats": nats,
    "share": percent,
    "4 decimals": lambda value: number(value, 4),
    "span": lambda ends: span(*map(number, ends)),
    "words": lambda value: (", ".join(value) if isinstance(value, tuple) else str(value)) or None,
}


def cell(row: Quantity, data: CaseData) -> str | None:
    """Format the value of a case without its unit, which is in the heading; None if it is unknown."""
    value = row.read(data)
    return None if value is None else FORMATS[row.format](value)


def with_unit(key: str, result: Result) -> str | None:
    """Format the value of a result with its unit, such as ``0.3 J/image``; None if it is unknown."""
    row = quantity(key)
    shown = cell(row, CaseData.of(result))
    task = result.metrics.task
    unit = row.unit.replace("samples", task.sample).replace("sample", task.one_sample)
    return shown and f"{shown} {unit}"


def interval_text(key: str, result: Result) -> str | None:
    """Format the 95% interval of a quantity without its unit; None if an end is unknown."""
    return cell(interval(key), CaseData.of(result))


def column(row: Quantity, data: Callable[[T], CaseData]) -> Column[T]:
    """Return the column of a quantity. Numbers are aligned right."""
    return Column(row.heading(), lambda record: cell(row, data(record)), right=row.is_number)


TOKEN_UNITS = ("tokens/s", "tokens/s with padding", "new tokens/s")


def token_rates(result_of: Callable[[T], Result]) -> tuple[Column[T], ...]:
    """Return a column for each unit of token rates: of new tokens for cases that generate some, else of all."""

    def rate(record: T, unit: str) -> str | None:
        result = result_of(record)
        new_tokens = result.metrics.new_tokens_per_s
        shown, own = result.token_rate if new_tokens is None else (new_tokens, "new tokens/s")
        return number(shown) if own == unit else None

    return tuple(Column(capitalized(unit), partial(rate, unit=unit)) for unit in TOKEN_UNITS)


def columns(
    view: View, data: Callable[[T], CaseData], own: Mapping[str, tuple[Column[T], ...]] = NO_COLUMNS
) -> tuple[Column[T], ...]:
    """Return the columns of a view. ``own`` has the table's own columns by their names in the layout."""
    view_columns: list[Column[T]] = []
    for row in view.rows(own):
        view_columns += own[row] if isinstance(row, str) else (column(row, data),)
    return tuple(view_columns)

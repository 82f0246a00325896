"""Table of hardware counters: how busy the units of GPU and processors were in each case."""

from collections.abc import Sequence

from benchtui.sessions.payloads import GPU_ACTIVITY, HOST_ACTIVITY, Environment
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.formatting import number
from benchtui.sessions.text.tables import Column, Table, table


def counters(results: Sequence[Result]) -> Table | None:
    """Return the means of each case. None if no counter was read, as on most machines."""
    found = [result for result in results if any(_value(result, name) is not None for name in _NAMES)]
    return table(_COLUMNS, found)


def _value(result: Result, name: str) -> float | None:
    environment = (result.case.finished and result.case.finished.environment) or Environment()
    value: float | None = getattr(environment, name)
    return value


def _column(name: str, label: str, unit: str) -> Column[Result]:
    title = label[:1].upper() + label[1:] + (f" ({unit})" if unit else "")
    return Column(title, lambda result: number(_value(result, name)))


_NAMES = GPU_ACTIVITY | HOST_ACTIVITY
_COLUMNS = (
    Column[Result]("Case", lambda result: result.name, right=False),
    *(_column(name, label, unit) for name, (label, unit) in _NAMES.items()),
)

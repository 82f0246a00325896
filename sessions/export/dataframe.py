"""A session as a pandas table: one row per case, with the columns of ``CaseRow``."""

from typing import TYPE_CHECKING, get_origin, get_type_hints

import msgspec

from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import simulation_note

if TYPE_CHECKING:
    from pandas import DataFrame

_TYPES = get_type_hints(CaseRow)
_COUNTS = [name for name, kind in _TYPES.items() if kind in (int, int | None)]
_LISTS = [name for name, kind in _TYPES.items() if get_origin(kind) is tuple]
FIGURES = [name for name, kind in _TYPES.items() if kind == float | None]
"""Columns of measured figures that aren't counts."""


def frame(session: Session) -> "DataFrame":
    """Return the table. Column names end in their units; unknown values are missing (None, NaN).

    If the session is simulated, all ``marks`` and the table's attribute ``simulated`` say so.
    """
    import pandas  # takes half a second

    records = [msgspec.structs.asdict(row) for row, _ in rows(session)] if session.cases else []
    for row in records:
        row |= {name: "; ".join(map(str, row[name])) or None for name in _LISTS}
    # as objects: a column of integers with gaps would become one of floats, which round large integers
    table = pandas.DataFrame(records, columns=list(CaseRow.__struct_fields__), dtype=object)
    typed = table.astype(dict.fromkeys(_COUNTS, "Int64") | dict.fromkeys(FIGURES, "float64")).infer_objects()
    if session.simulated:
        typed.attrs["simulated"] = simulation_note(session.start)
    return typed

"""Export schema: one case as a row of plain values (the CSV columns, and the JSON fields except nested ones).

Generated from the catalogue of ``sessions/metrics/``. A contract with other programs: columns may be added, but
are renamed only with a new ``SCHEMA``. Names end in their units: ``_ms``, ``_per_s``, ``_mb`` (10**6 bytes),
``_w``, ``_j``, ``_percent``. Missing values are null, or an empty cell.
"""

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from benchtui.sessions.metrics.catalogue import EXPORTED

SCHEMA = 3
# 1  2026-11: initial version.
# 2  2026-11: options of an imported case are null if its tool doesn't record them; ``verdict`` says same and
#    unsure instead of "no difference" and "not known"; ``speedup`` is based on typical steps.
# 3  2026-11: ``verdict`` is spelled as in all other documents: FASTER, SLOWER, SAME, UNSURE, REPORTED.


if TYPE_CHECKING:

    class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
        """Row as type checkers see it, because they can't infer fields from the catalogue."""

        name: str
        marks: tuple[str, ...]
        n: int | None

        def __getattr__(self, key: str) -> float | None:
            """Return a figure of the catalogue."""

else:
    CaseRow = msgspec.defstruct(
        "CaseRow",
        [(row.key, Annotated[row.kind, Meta(description=row.help)]) for row in EXPORTED],
        frozen=True,
        kw_only=True,
        module=__name__,
        namespace={
            "__doc__": "One case of a session: requested options, outcome, and metrics if it succeeded."
        },
    )

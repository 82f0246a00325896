"""The catalogue: every quantity of a case, in the order of the exported columns."""

from msgspec.structs import replace

from benchtui.sessions.metrics import case_rows, machine_rows, speed_rows
from benchtui.sessions.metrics.quantity import Quantity

SUBJECTS = {
    "case": case_rows.IDENTITY,
    "options": case_rows.REQUESTED,
    "outcome": case_rows.OUTCOME,
    "applied": case_rows.APPLIED,
    "sample": case_rows.SAMPLE,
    "latency": speed_rows.LATENCY,
    "throughput": speed_rows.THROUGHPUT,
    "requests": speed_rows.REQUESTS,
    "start": speed_rows.START,
    "memory": machine_rows.MEMORY,
    "energy": machine_rows.ENERGY,
    "process": machine_rows.PROCESS,
    "machine": machine_rows.MACHINE,
    "counters": machine_rows.COUNTERS,
    "imported": machine_rows.IMPORTED,
    "compiler": machine_rows.COMPILER,
    "baseline": case_rows.BASELINE,
    "answer": case_rows.ANSWER,
}
"""Rows by subject."""
CATALOGUE = tuple(replace(row, subject=subject) for subject, rows in SUBJECTS.items() for row in rows)
BY_KEY = {row.key: row for row in CATALOGUE}
EXPORTED = tuple(row for row in CATALOGUE if row.exported)
"""Columns of exports."""


def quantity(key: str) -> Quantity:
    """Return a quantity by its key."""
    return BY_KEY[key]

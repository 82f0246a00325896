"""Pandas tables of a session's cases and steps, and of a comparison."""

from pathlib import Path
from typing import Any

from benchtui.sessions.compare.align import AlignedCase, PairwiseComparison, SessionComparison
from benchtui.sessions.export.dataframe import FIGURES, frame
from benchtui.sessions.export.step_export import blocks, column_names, parts_of
from benchtui.sessions.files.extras import import_extra
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import simulation_note

import_extra("pandas", "frames", "a table of a session")
import pandas  # noqa: E402  (the line above says what to install)
from pandas import DataFrame  # noqa: E402

INDEX = "name"
_COUNTS = ("tokens", "padded_tokens")


def case_frame(session: Session, *, all_columns: bool = False) -> DataFrame:
    """Return one row per case: the columns that were measured or differ between cases, or all of them."""
    table = frame(session).set_index(INDEX)
    kept = [name for name in table if all_columns or _informs(str(name), table[name])]
    return _with_note(table[kept], session)


def _informs(name: str, values: Any) -> bool:  # noqa: ANN401  (a column of pandas)
    """Return whether a column was measured, or its values differ.

    Marks and verdicts stay even if all cases have the same: they say how far the figures can be trusted.
    """
    if name in FIGURES or name in ("marks", "verdict"):
        return bool(values.notna().any())
    return len(values.unique()) > 1


def step_frame(path: Path, session: Session) -> DataFrame:
    """Return one row per recorded step, without columns that have no value."""
    recorded = Session.load(path)  # that of the caller has no steps
    parts = parts_of(recorded)
    columns: dict[str, list[Any]] = {name: [] for name in column_names(recorded, parts)}
    for block in blocks(recorded):
        for name, values in block.named(parts).items():
            columns[name].extend(values)
    table = DataFrame(columns).dropna(axis="columns", how="all")
    table = table.astype({name: "Int64" for name in _COUNTS if name in table})
    table.index = pandas.Index([session.cases[case].name for case in columns["case"]], name=INDEX)
    return _with_note(table, session)


def _with_note(table: DataFrame, session: Session) -> DataFrame:
    if session.simulated:
        table.attrs["simulated"] = simulation_note(session.start)
    return table


def comparison_frame(against: PairwiseComparison) -> DataFrame:
    """Return one row per case of either session."""
    table = DataFrame([_compared(row) for row in against.rows]).set_index(INDEX)
    return _with_note(_with_note(table, against.base.session), against.new.session)


def _compared(row: AlignedCase) -> dict[str, object]:
    pair, ratio = row.pair, row.ratio
    return {
        INDEX: row.case.name,
        "base_ms": pair.base.typical_ms if pair else None,
        "new_ms": pair.new.typical_ms if pair else None,
        "ratio": ratio.value if ratio else None,
        "ratio_low": ratio.low if ratio else None,
        "ratio_high": ratio.high if ratio else None,
        "verdict": row.verdict.name if row.verdict else None,
        "resolution_percent": 100 * ratio.resolution if ratio and ratio.resolution is not None else None,
        "same_answer": row.same_answer,
        "base_outcome": row.base.state if row.base else None,
        "new_outcome": row.new.state if row.new else None,
    }


def difference_frame(compared: SessionComparison) -> DataFrame:
    """Return one row per difference between the machines, the software and the settings."""
    rows = [(difference.what, difference.group, *difference.values) for difference in compared.differences]
    return DataFrame(rows, columns=["what", "group", "base", "new"]).set_index("what")

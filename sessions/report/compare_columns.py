"""Table columns that show the measured cases of two sessions side by side."""

from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from benchtui.sessions.compare.align import AlignedCase
from benchtui.sessions.metrics.quantity import CaseData, Quantity
from benchtui.sessions.metrics.views import COMPARED, COMPARED_SHORT, View
from benchtui.sessions.stats.disturbance import mark_kind
from benchtui.sessions.stats.ratios import Comparison
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.text.formatting import in_sentence, number
from benchtui.sessions.text.quantities import TOKEN_UNITS, cell
from benchtui.sessions.text.tables import Column, text_column
from benchtui.sessions.text.wording import ratio_interval, ratio_value, verdict_cell

NO_TIME = f"{Verdict.UNSURE.name}: no time"
LEAST_PACE = 0.02
"""Minimum relative change of the machine's own peaks between sessions for a row to mention it."""


class PairRow(msgspec.Struct, frozen=True):
    """A row with its pair."""

    row: AlignedCase
    pair: Comparison


Columns = tuple[Column[PairRow], ...]
Cell = Callable[[Result], str | None]


def pair_rows(rows: Iterable[AlignedCase]) -> list[PairRow]:
    """Return the rows that have a pair."""
    return [PairRow(row, row.pair) for row in rows if row.pair]


def short_columns(letter: str) -> Columns:
    """Return the columns that fit in a terminal. ``letter`` is the new session's."""
    return _columns(COMPARED_SHORT, letter)


def full_columns(letter: str) -> Columns:
    """Return every available column. ``letter`` is the new session's."""
    return _columns(COMPARED, letter)


def _columns(view: View, letter: str) -> Columns:
    own = _OWN | {"names": _names(letter), "token rates": _token_rates(letter), "notes": (_notes(letter),)}
    return tuple(
        shown
        for row in view.rows(own)
        for shown in (
            own[row] if isinstance(row, str) else _both(letter, in_sentence(row.heading()), partial(_cell, row))
        )
    )


def _cell(row: Quantity, result: Result) -> str | None:
    return cell(row, CaseData.of(result))


def own_marks(row: AlignedCase, pair: Comparison, letter: str) -> str | None:
    """Return the kinds of marks that only one case has, and the change in the machine's own speed."""
    base, new = pair.base.case.marks, pair.new.case.marks
    marks = (
        *(f"A: {mark_kind(mark)}" for mark in base if mark not in new),
        *(f"{letter}: {mark_kind(mark)}" for mark in new if mark not in base),
        *_pace(row.machine_speedup),
    )
    return "; ".join(dict.fromkeys(marks)) or None


def _pace(pace: tuple[float, float] | None) -> list[str]:
    if pace is None or max(abs(ratio - 1) for ratio in pace) < LEAST_PACE:
        return []
    return [f"machine itself {number(pace[0])} to {number(pace[1])} ×"]


def _names(letter: str) -> Columns:
    return (
        text_column("Case", lambda pair_row: pair_row.pair.base.name),
        text_column(f"Case of {letter}", _other_name),
    )


def _other_name(pair_row: PairRow) -> str | None:
    """Return the new case's name if it differs from the base's."""
    base, new = pair_row.pair.base.name, pair_row.pair.new.name
    return None if base == new else new


def _token_rates(letter: str) -> Columns:
    """Return the columns of token rates, a pair for each unit."""

    def in_unit(result: Result, unit: str) -> str | None:
        rate, own = result.headline_rate
        return number(rate) if own == unit else None

    return tuple(column for unit in TOKEN_UNITS for column in _both(letter, unit, partial(in_unit, unit=unit)))


def _step_ratio(pair_row: PairRow) -> str | None:
    """Return the ratio of steps if it differs from the ratio of throughputs, such as imported ones."""
    shown = ratio_value(pair_row.pair.latency)
    return shown if shown != ratio_value(pair_row.row.ratio) else None


def _both(letter: str, title: str, text: Cell) -> Columns:
    return (
        Column(f"A {title}", lambda pair_row: text(pair_row.pair.base)),
        Column(f"{letter} {title}", lambda pair_row: text(pair_row.pair.new)),
    )


def _notes(letter: str) -> Column[PairRow]:
    return text_column("Notes", lambda pair_row: own_marks(pair_row.row, pair_row.pair, letter))


def _answer(row: AlignedCase) -> str | None:
    """Say whether both answers are the same; None if they can't be compared, but for other weights."""
    if row.other_weights:
        return "other weights"
    return {True: "same", False: "changed", None: None}[row.same_answer]


_OWN: dict[str, Columns] = {
    "ratio": (
        Column("Ratio (×)", lambda pair_row: ratio_value(pair_row.row.ratio)),
        Column("95% interval (×)", lambda pair_row: ratio_interval(pair_row.row.ratio)),
        text_column("Verdict", lambda pair_row: verdict_cell(pair_row.row.ratio) or NO_TIME),
    ),
    "ratio of steps": (Column("Ratio of steps (×)", _step_ratio),),
    "answer": (text_column("Answer", lambda pair_row: _answer(pair_row.row)),),
}

"""Comparison rows: pairs of cases, with filtering and sorting. Independent of Textual."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from math import inf
from typing import Any

import msgspec
from msgspec.structs import replace

from benchtui.sessions.compare.align import AlignedCase as Aligned
from benchtui.sessions.compare.align import PairwiseComparison, SessionComparison
from benchtui.sessions.metrics.quantity import CaseData, Quantity
from benchtui.sessions.metrics.views import COMPARED_ON_SCREEN
from benchtui.sessions.state.case import outcome
from benchtui.sessions.stats.results import Result, varied
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.text.formatting import ratio_span, ratio_text
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import LEAST_WIDEST
from benchtui.tui.drawing.format import clean, has_words
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.model.row_cells import VERDICT_ROLES, ratio_graph
from benchtui.tui.table.case_names import CaseNames, config_name
from benchtui.tui.table.columns import Column, quantity_format, quantity_title
from benchtui.tui.table.layout import GAP, Arrangement, TableRow

ORDERS = ("plan", "slowest first", "fastest first", "verdict")
"""Sort orders, in the order that the key binding cycles through."""
VERDICTS: dict[Verdict, Span] = {
    verdict: (f"{letter} {verdict.name}", VERDICT_ROLES[verdict])
    for verdict, letter in zip(Verdict, "FS=?r", strict=True)
}
"""Letter, word, and color role of each verdict."""
SEVERAL = "new"
"""Letter of the new session in titles if there are several."""
LEAST_NAME = 14
"""Minimum width of a case's name in cells."""
SIDES = 2
"""Rank of the columns that show both sides at every width."""
LEAST_NUMBER = 8
"""Minimum width of a column of numbers in cells."""
FURTHER = 7
"""Rank of the first further column, which comes after the ratio's bar."""
ONE = 1.0
"""Ratio that sets the number of decimals of all, so that those of a column align."""
WORST_FIRST = (Verdict.SLOWER, None, Verdict.UNSURE, Verdict.REPORTED, Verdict.FASTER, Verdict.SAME)


class CompareEntry(msgspec.Struct, frozen=True):
    """Case of the base and the corresponding case of another session."""

    against: PairwiseComparison
    row: Aligned
    name: str
    """Name that distinguishes the case from the others, sanitized."""
    other: str = ""
    """Name of the case in the new session, if different."""


def arrangement(width: int, names: CaseNames, letter: str, unit: str) -> Arrangement:
    """Return the columns that fit a width. Names are shortened until both sides and the ratio's bar fit."""
    all_columns = columns(letter, unit)
    lead = GAP if letter == SEVERAL else 0
    room = width - 1 - lead - sum(column.width + GAP for column in all_columns if column.rank <= SIDES)
    bar = max(column.graph_range[0] for column in all_columns) + 1
    room = max(room - bar if room - bar >= LEAST_NAME else room, LEAST_NAME)
    fitted = names.fitted(room)
    return replace(Arrangement.of(width, min(fitted.width, room), all_columns, lead=lead), names=fitted)


def columns(letter: str, unit: str) -> tuple[Column, ...]:
    """Return the columns next to a case. ``letter`` is that of the new session, or ``SEVERAL``.

    ``unit`` is that of the throughput, such as ``images/s``.
    The two sides of a metric share a rank, so that neither is shown without the other. The ratio's bar gets
    space before columns of a higher rank than graphs.
    """
    ranks = count(FURTHER)
    shown_columns = [
        Column("state", "verdict", 8, 0, words=True),
        Column("ratio", "ratio", 7, 1, graph_range=(7, 13)),
    ]
    for place, row in enumerate(COMPARED_ON_SCREEN.rows()):
        if isinstance(row, str):
            shown_columns.append(Column(row, row, 15, next(ranks)))
        else:
            title = unit if row.key == "samples_per_s" else quantity_title(row)
            shown_columns += _both_sides(row, title, letter, next(ranks) if place else SIDES)
    return tuple(shown_columns)


def _both_sides(row: Quantity, title: str, letter: str, rank: int) -> Iterator[Column]:
    for side, name in (("base", "A"), ("new", letter)):
        full = f"{name} {title}"
        yield Column(f"{side} {row.key}", full, max(LEAST_NUMBER, len(full)), rank)


def entries(compared: SessionComparison) -> list[CompareEntry]:
    """Return an entry for each case and session, in the order of the base's plan."""
    several = len(compared.against) > 1
    unsorted = [
        _entry(against, row, kinds, several)
        for against in compared.against
        for kinds in [_varying(against)]
        for row in against.rows
    ]
    return sorted(unsorted, key=lambda entry: entry.row.base.index if entry.row.base else len(unsorted))


def _varying(against: PairwiseComparison) -> tuple[str, ...]:
    """Return the options that vary within or between the sessions, except device, precision and batch size."""
    sessions = (against.base.session, against.new.session)
    options = varied(case.config for session in sessions for case in session.cases)
    return tuple(option for option in options if option not in ("device", "precision"))


def shown(entries: Sequence[CompareEntry], words: str, order: str) -> list[CompareEntry]:
    """Return the entries whose name or verdict contains all words, sorted."""
    kept = [entry for entry in entries if has_words(_text(entry), words)]
    key = _KEYS.get(order)
    return sorted(kept, key=key) if key else kept


def widest_ratio(entries: Sequence[CompareEntry]) -> float:
    """Return the ratio at the end of the bars: the one farthest from 1, or its reciprocal."""
    ratios = [ratio for entry in entries if 0 < (ratio := _speed(entry)) < inf]
    return max((LEAST_WIDEST, *ratios, *(1 / ratio for ratio in ratios)))


def row(entry: CompareEntry, symbols: Symbols, widest: float = LEAST_WIDEST) -> TableRow:
    """Build an entry's table row; ``widest`` is the ratio at the end of its bar."""
    pair, config = entry.row.pair, entry.row.case.config
    lead = (entry.against.new_letter, "muted")
    if pair is None:
        state = (f"{symbols.failed} lost", "bad") if entry.row.lost else (symbols.absent, "muted")
        return TableRow(
            (entry.name, "muted"), {"state": state}, instead=why_unpaired(entry), lead=lead, config=config
        )
    cells = {
        "ratio": times(entry.row.ratio, symbols),
        "interval": interval(entry.row.ratio, symbols),
        **_metric_cells("base", pair.base, symbols),
        **_metric_cells("new", pair.new, symbols),
    }
    styled: dict[str, Span] = {
        key: (text, "muted" if text == symbols.absent else "plain") for key, text in cells.items()
    }
    state = VERDICTS[entry.row.verdict or Verdict.UNSURE]
    styled |= {"state": state, "ratio": (cells["ratio"], state[1])}
    graph = partial(_graph, entry.row.ratio, widest, symbols)
    return TableRow((entry.name, "plain"), styled, graph=graph, lead=lead, config=config)


def _graph(ratio: Ratio | None, widest: float, symbols: Symbols, key: str, width: int) -> Sequence[Span]:
    """Draw the ratio as a bar around 1."""
    return ratio_graph(ratio, widest, width, symbols) if ratio else ()


def times(ratio: Ratio | None, symbols: Symbols) -> str:
    """Format a ratio, such as ``1.250x``."""
    return symbols.absent if ratio is None or ratio.shown is None else f"{ratio_text(ratio.shown, ONE)}x"


def interval(ratio: Ratio | None, symbols: Symbols) -> str:
    """Format the interval of a ratio."""
    bounds = ratio_span(ratio.low, ratio.high, ONE) if ratio else None
    return bounds or symbols.absent


def _metric_cells(side: str, result: Result, symbols: Symbols) -> dict[str, str]:
    data = CaseData.of(result)
    return {
        f"{side} {row.key}": quantity_format(row)(row.figure(data), symbols)
        for row in COMPARED_ON_SCREEN.rows()
        if not isinstance(row, str)
    }


def _entry(against: PairwiseComparison, row: Aligned, kinds: tuple[str, ...], several: bool) -> CompareEntry:
    letter = f"{against.new_letter} " if several else ""
    base, new = (clean(config_name(case.config, kinds)) if case else "" for case in (row.base, row.new))
    return CompareEntry(against, row, f"{letter}{base or new}", new if base and new != base else "")


def why_unpaired(entry: CompareEntry) -> str:
    """Return why a case has no ratio: its outcome in each session."""
    base, new, letter = entry.row.base, entry.row.new, entry.against.new_letter
    if base is None or new is None:
        return f"only in {letter if base is None else 'A'}: {outcome(entry.row.case)}"
    return f"A: {outcome(base)}; {letter}: {outcome(new)}"


def _text(entry: CompareEntry) -> str:
    word = VERDICTS[entry.row.verdict][0] if entry.row.verdict else "lost" if entry.row.lost else "only"
    return f"{entry.name} {word}"


def _speed(entry: CompareEntry) -> float:
    """Return the ratio of a case; infinite without one to show."""
    shown = entry.row.ratio.shown if entry.row.ratio else None
    return inf if shown is None else shown


_KEYS: dict[str, Callable[[CompareEntry], Any]] = {
    "slowest first": _speed,
    "fastest first": lambda entry: -speed if (speed := _speed(entry)) < inf else inf,
    "verdict": lambda entry: (WORST_FIRST.index(entry.row.verdict), _speed(entry)),
}

"""Layout of the case table: which columns fit, cells as lines, and the title; independent of Textual."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import msgspec
from msgspec.structs import replace

from benchtui.sessions.sweep import Config
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, fit
from benchtui.tui.drawing.styled_text import Line, Span, crop
from benchtui.tui.table.case_names import CaseNames
from benchtui.tui.table.columns import (
    BY_KEY,
    DEFAULT_COLUMN_SET,
    DEFAULT_COLUMNS,
    GRAPH_RANK,
    KEYS,
    SAMPLES_PER_S,
    Column,
)

GAP = 2
LEAD = 2
"""Cells in front of the case's name in a table that marks the best case."""
MIN_NAME = 16
"""Minimum width of the case's name in cells. Columns are left out before it gets shorter."""
Graph = Callable[[str, int], Sequence[Span]]
"""Draw the graph of a column, by key, in a width in cells. Empty if there is none."""


def no_graph(key: str, width: int) -> Sequence[Span]:
    """Draw nothing, for rows without graphs."""
    return ()


@dataclass(frozen=True, slots=True)
class TableRow:
    """Case in the table: text and role of each cell, by column."""

    case: Span
    """Name and role. A row with a ``config`` needs no name."""
    cells: Mapping[str, Span]
    instead: str = ""
    """Text shown in place of metrics: why there are none."""
    graph: Graph = field(default=no_graph, compare=False)
    lead: Span = (" ", "plain")
    """Sign in front of the name, such as that of the best case."""
    config: Config | None = None
    """Options of a case whose name is formatted to fit the available room."""


class Cells(Mapping[str, Span]):
    """Cells of all columns, formatted on first access, since most columns aren't shown."""

    def __init__(self, write: Callable[[str], Span]) -> None:
        self._format = write
        self._formatted: dict[str, Span] = {}

    def __getitem__(self, key: str) -> Span:
        if key not in self._formatted:
            self._formatted[key] = self._format(key)
        return self._formatted[key]

    def __iter__(self) -> Iterator[str]:
        return iter(KEYS)

    def __len__(self) -> int:
        return len(KEYS)


class Sorting(msgspec.Struct, frozen=True):
    """Sort order of the rows."""

    key: str
    """Key of a column, or ``case`` for the options."""
    reverse: bool = False


class Rows(msgspec.Struct, frozen=True):
    """Content of the table."""

    count: int
    row: Callable[[int], TableRow]
    """Return the row at an index, from 0."""
    names: CaseNames
    chosen: int | None
    """Row selected by the user."""
    running: int | None
    """Row to keep in view while none is selected."""
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    """Keys of the columns, in display order."""
    hidden: frozenset[str] = frozenset()
    """Columns left out because no case has a value for them."""
    sorting: Sorting | None = None
    total: int = 0
    """Number of cases, without the filter."""
    filter: str = ""
    unit: str = SAMPLES_PER_S
    """Unit of the throughput, as the title of its column."""
    over: bool = False
    """Whether the session has ended: the best rows come into view once."""


class Arrangement(msgspec.Struct, frozen=True):
    """Columns that fit a width: the case at the left, notes in the remaining space."""

    case_width: int
    columns: tuple[Column, ...]
    sorting: Sorting | None = None
    lead: int = 0
    """Cells in front of the name."""
    names: CaseNames | None = None
    """Format of the names of rows that have a ``config``."""

    @classmethod
    def of(
        cls,
        width: int,
        case_width: int,
        columns: Sequence[Column] = DEFAULT_COLUMN_SET,
        sorting: Sorting | None = None,
        lead: int = 0,
    ) -> "Arrangement":
        """Select as many columns as fit, by rank: numbers, then graphs, then texts. Graphs share the rest."""
        able = [column for column in columns if width >= column.from_width]
        early = [column for column in able if column.rank < GRAPH_RANK]
        late = [column for column in able if column.rank > GRAPH_RANK]
        chosen, room = _fitting(early, width - 1 - lead - case_width)
        graphs = _with_graphs([column for column in columns if column in chosen], room)
        room -= sum(shown_column.graph + 1 for shown_column in graphs.values())
        chosen_late, room = _fitting(late, room) if len(chosen) == len(early) else ([], room)
        graphs = _widened(graphs, room)
        shown = (
            graphs.get(shown_column.key, shown_column)
            for shown_column in columns
            if shown_column in (*chosen, *chosen_late)
        )
        return cls(case_width, tuple(shown), sorting, lead)

    @classmethod
    def of_cases(
        cls, width: int, names: CaseNames, columns: Sequence[Column], sorting: Sorting | None = None
    ) -> "Arrangement":
        """Shorten the names until the most important columns fit, if they can, then select the columns.

        Options that all cases share are left out of the names if that makes room for a column or a graph.
        """
        least = _fitting(most_important(columns), width - 1 - LEAD - MIN_NAME)[0]
        needed = sum(column.width + GAP for column in least)
        fitted = names.fitted(max(width - 1 - LEAD - needed, MIN_NAME))
        brief = names.without_shared()
        if brief.width < fitted.width and _shown(brief, width, columns) > _shown(fitted, width, columns):
            fitted = brief
        case_width = min(fitted.width, max(width - 1 - LEAD - needed, MIN_NAME))
        return replace(cls.of(width, case_width, columns, sorting, LEAD), names=fitted)

    @property
    def hides_sorting(self) -> bool:
        """Whether the rows are sorted by a column that isn't shown."""
        shown = ("case", *(column.key for column in self.columns))
        return self.sorting is not None and self.sorting.key not in shown

    def key_at(self, cell: int) -> str:
        """Return the key of the column at a cell of the header; ``case`` for the case's options."""
        end, key = 1 + self.lead + self.case_width, "case"
        for column in self.columns:
            if cell < end:
                break
            graph = column.graph + 1 if column.graph else 0
            end, key = end + GAP + graph + column.width, column.key
        return key

    def header(self, width: int, symbols: Symbols) -> Line:
        """Render the column titles, marking the sort column."""
        cells = {column.key: self._title(column.key, column.title, symbols) for column in self.columns}
        return self.line(TableRow(self._title("case", "case", symbols), cells), width, symbols)

    def _title(self, key: str, title: str, symbols: Symbols) -> Span:
        title = title.replace("+-", symbols.plus_minus)
        if self.sorting is None or self.sorting.key != key:
            return (title, "muted")
        sign = symbols.down if self.sorting.reverse else symbols.upward
        return (f"{sign}{title}", "bright")

    def line(self, row: TableRow, width: int, symbols: Symbols, mark: str = " ") -> Line:
        """Render a row. A number wider than its column is never cut; it shifts the rest."""
        text, role = row.case
        if row.config is not None and self.names is not None:
            text = clean(self.names.text(row.config, symbols.ellipsis))
        lead = (row.lead[0].ljust(self.lead)[: self.lead], row.lead[1])
        pieces: list[Span] = [(mark, "accent"), lead, (fit(text, self.case_width, symbols), role)]
        for column in self.columns:
            pieces += self._cell(column, row.cells.get(column.key, ("", "plain")), row.graph)
            if column.key == "state" and row.instead:
                return crop([*pieces, (" " * GAP, "plain"), (row.instead, "muted")], width, symbols)
        return crop(pieces, width, symbols)

    def _cell(self, column: Column, cell: Span, graph: Graph) -> Iterable[Span]:
        text, role = cell
        if column.key == "notes":
            return ((" " * GAP, "plain"), cell)
        if column.words:
            return ((" " * GAP, "plain"), (text.ljust(column.width), role))
        if not column.graph:
            return ((" ", "plain"), (text.rjust(column.width + GAP - 1), role))
        drawn = graph(column.key, column.graph)
        width = column.width + (0 if drawn else column.graph)
        return ((" " * GAP, "plain"), *drawn, (text.rjust(width + 1), role))


def most_important(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that names make room for: median, throughput and ratio, and those before them."""
    keys = ("p50", "samples", "base")
    last = max((column.rank for column in columns if column.key in keys), default=-math.inf)
    return [column for column in columns if column.rank <= last]


def _shown(names: CaseNames, width: int, columns: Sequence[Column]) -> int:
    """Return the number of columns without text, and of graphs, that fit next to names."""
    early = [column for column in columns if column.rank < GRAPH_RANK and width >= column.from_width]
    chosen, room = _fitting(early, width - 1 - LEAD - names.width)
    return len(chosen) + len(_with_graphs([column for column in columns if column in chosen], room))


def _fitting(columns: Iterable[Column], room: int) -> tuple[list[Column], int]:
    """Return the columns that fit, by rank, and the room left. Columns of one rank are shown together."""
    chosen: list[Column] = []
    ranked = sorted(columns, key=lambda column: column.rank)
    for _, group in groupby(ranked, key=lambda column: column.rank):
        together = list(group)
        needed = sum(column.width + GAP for column in together)
        if room < needed:
            break
        room -= needed
        chosen += together
    return chosen, room


def _with_graphs(columns: Iterable[Column], room: int) -> dict[str, Column]:
    """Return the columns whose smallest graph fits, by key, each with that graph."""
    with_graph: dict[str, Column] = {}
    for column in columns:
        least = column.graph_range[0]
        if least and room >= least + 1:
            room -= least + 1
            with_graph[column.key] = replace(column, graph=least)
    return with_graph


def _widened(columns: Mapping[str, Column], room: int) -> dict[str, Column]:
    """Return the columns with their graphs widened in turn, two cells at a time."""
    widened = dict(columns)
    while grown := {
        key: replace(column, graph=column.graph + 2)
        for key, column in widened.items()
        if column.graph + 2 <= column.graph_range[1]
    }:
        for key, column in grown.items():
            if room < 2:
                return widened
            room -= 2
            widened[key] = column
    return widened


def table_title(rows: Rows, arrangement: Arrangement) -> list[Span]:
    """Return the table's title, such as ``cases /sdpa [7 of 32]``, and what its rows leave out."""
    if rows.filter:
        count = f"[{rows.count:,} of {rows.total:,}]"
        return [("cases ", "plain"), (f"/{rows.filter}", "accent"), (f" {count}", "muted")]
    same = rows.names.shared_text(rows.row(0).config, arrangement.names) if rows.count else ""
    return [("cases ", "plain"), (f"[{rows.total:,}]{f'  all {same}' if same else ''}", "muted")]


def table_subtitle(arrangement: Arrangement, symbols: Symbols) -> list[Span]:
    """Return the sort order if its column isn't shown, such as ``sorted by p99 ms ▾``; else nothing."""
    sorting = arrangement.sorting
    if sorting is None or not arrangement.hides_sorting:
        return []
    title = BY_KEY[sorting.key].title.replace("+-", symbols.plus_minus)
    return [(f"sorted by {title} {symbols.down if sorting.reverse else symbols.upward}", "muted")]

"""Layout of the case table: which columns fit, and cells as lines; independent of Textual."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchtui.sessions.sweep import Config
from benchtui.sessions.sweep.options import BY_NAME, SHOWN
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import fit
from benchtui.tui.drawing.styled_text import Line, Span, crop
from benchtui.tui.table.columns import DEFAULT_COLUMN_SET, DEFAULT_COLUMNS, KEYS, Column

GAP = 2


@dataclass(frozen=True, slots=True)
class TableRow:
    """Case in the table: text and role of each cell, by column."""

    case: Span
    cells: Mapping[str, Span]
    instead: str = ""
    """Text shown in place of metrics: why there are none."""


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


@dataclass(frozen=True, slots=True)
class Sorting:
    """Sort order of the rows."""

    key: str
    """Key of a column, or ``case`` for the options."""
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """Content of the table."""

    count: int
    row: Callable[[int], TableRow]
    """Return the row at an index, from 0."""
    case_width: int
    chosen: int | None
    """Row selected by the user."""
    running: int | None
    """Row to keep in view while none is selected."""
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    """Keys of the columns, in display order."""
    sorting: Sorting | None = None


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Columns that fit a width: the case at the left, notes in the remaining space."""

    case_width: int
    columns: tuple[Column, ...]
    sorting: Sorting | None = None

    @classmethod
    def of(
        cls,
        width: int,
        case_width: int,
        columns: Sequence[Column] = DEFAULT_COLUMN_SET,
        sorting: Sorting | None = None,
    ) -> "Arrangement":
        """Select as many columns as fit, by rank."""
        room = width - 1 - case_width
        chosen: list[Column] = []
        for column in sorted(columns, key=lambda column: column.rank):
            if room < column.width + GAP:
                break
            room -= column.width + GAP
            chosen.append(column)
        return cls(case_width, tuple(column for column in columns if column in chosen), sorting)

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
        pieces: list[Span] = [(mark, "accent"), (fit(text, self.case_width, symbols), role)]
        for column in self.columns:
            pieces += self._cell(column, row.cells.get(column.key, ("", "plain")))
            if column.key == "state" and row.instead:
                return crop([*pieces, (" " * GAP, "plain"), (row.instead, "muted")], width, symbols)
        return crop(pieces, width, symbols)

    def _cell(self, column: Column, cell: Span) -> Iterable[Span]:
        text, role = cell
        if column.key == "notes":
            return ((" " * GAP, "plain"), cell)
        padded = text.ljust(column.width) if column.words else text.rjust(column.width)
        return ((" " * GAP, "plain"), (padded, role))


OPTIONS = (
    *((name, BY_NAME[name].prefix.replace("=", " ") if BY_NAME[name].numeric else "") for name in SHOWN),
    ("repeat", ""),
)
"""Options in display order, each with its prefix."""
REPEAT_LABELS = ("", "again")
"""Labels of the first and the second case of an A/A pair."""
ALWAYS = ("device", "precision", "batch_size", "name")


@dataclass(frozen=True, slots=True)
class CaseNames:
    """Format of aligned case names: the options that differ, each as wide as its widest value."""

    widths: tuple[tuple[str, str, int], ...]
    """Each option, its prefix, and its width in cells."""

    @classmethod
    def of(cls, plan: Sequence[Config]) -> "CaseNames":
        """Select a plan's options: always device, precision and batch size; labels replace all options."""
        widths = []
        for option, word in (("name", ""),) if any(config.label for config in plan) else OPTIONS:
            values = {_value(config, option) for config in plan}
            if len(values) > 1 or option in ALWAYS:
                widths.append((option, word, max((len(str(value)) for value in values), default=0)))
        return cls(tuple(widths))

    @property
    def width(self) -> int:
        """Width of a case name in cells."""
        return sum(len(word) + size + 1 for _, word, size in self.widths) - 1

    def text(self, config: Config) -> str:
        """Format a case's options, aligned: names left, numbers right."""
        return " ".join(word + _aligned(_value(config, option), size) for option, word, size in self.widths)


def _value(config: Config, option: str) -> str | int:
    value: str | int = REPEAT_LABELS[config.repeat] if option == "repeat" else getattr(config, option)
    return value


def _aligned(value: str | int, size: int) -> str:
    return f"{value:>{size}}" if isinstance(value, int) else f"{value:<{size}}"

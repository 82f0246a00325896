"""Map of a kind of file: a TOML file in ``maps`` or a user's own, and the rows that it finds in a file."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers.quantities import is_empty
from benchtui.sessions.importers.source import Record, Source
from benchtui.sessions.sweep.model import MOST_CASES

Text = str | tuple[str, ...]
"""Text with columns in braces: ``{a}``, ``{+a}`` for a number above 0, ``{?a}`` for nothing if it is known. Of
several texts, the first without an unknown column applies."""
_NOTHING = ("0", "false")
_LISTED = re.compile(r"\{([^{}]*,[^{}]*)\}")
_BRACES = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDER = re.compile(r"\{([?+]?)([^}]+)\}")


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rule that applies to the rows in which a column has some value."""

    column: str
    matches: tuple[str, ...] = ("*",)
    """Patterns in lower case; the rule applies if the value has one of them."""
    set: dict[str, Text] = {}
    """Quantities that are then known."""
    columns: dict[str, str] = {}
    """Columns that are then read."""

    def applies(self, row: "Row") -> bool:
        """Return whether the column has a value of these patterns. Numbers match however they are written."""
        cell = row.get(self.column)
        return cell is not None and any(fnmatchcase(plain(cell).lower(), pattern) for pattern in self.matches)


class FileMap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Map of a kind of file: where its cases are, and which column is which quantity."""

    columns: dict[str, str | tuple[str, ...]]
    """Quantities by column: the path of a key in a row or around it, with alternatives after ``|``. With
    ``*`` in a column, its quantity is ``OPTION:QUANTITY``, and each value of the option is a case; without,
    it is ``OPTION=VALUE:QUANTITY``. ``{a,b}_ms`` are two columns; ``{x,y}`` in their quantity, the first braces
    with as many words, is ``x`` for the first and ``y`` for the second; ``{}`` is the word."""
    tool: str = "table"
    package: str = ""
    """Name of the measured software, if it isn't the tool's."""
    requires: tuple[str, ...] = ()
    """Columns that identify a file of this kind."""
    rows: str = ""
    """Path of the list of rows, such as ``benchmarks.runs``; empty if each record is a row. ``*`` for all
    objects in it, whose keys are the column ``*``; ``report=`` for the object of this name. After ``?``, a
    record without it is a row itself."""
    gather: bool = False
    """Whether records are steps of one case: the whole file is a row, and each of its columns a list."""
    transpose: str = ""
    """Column with names of quantities: the whole file is one row, and its columns are ``NAME.COLUMN``. With
    ``*`` as ``rows``, each other column is a row."""
    name: tuple[Text, ...] = ()
    """Parts of a case's name; one with an unknown column is left out, and one after ``?`` if all rows have the
    same."""
    short_name: str = ""
    """Name of the cases whose name it is alone."""
    group: tuple[Text, ...] = ()
    """Parts of the work of a case; only cases of the same work are compared. A case without one is
    compared only with those of its name."""
    unit: str = ""
    """Unit of times without one."""
    set: dict[str, Text] = {}
    """Quantities that no column states."""
    values: dict[str, dict[str, str]] = {}
    """Values of a quantity by what the file writes, in lower case; an empty one is unknown."""
    remove: dict[str, str] = {}
    """Regular expression of what isn't part of a column's text."""
    keep: dict[str, str] = {}
    """Values that a column of every row must have if it has any; other rows are left out."""
    when: tuple[Rule, ...] = ()
    """Rules, of which the first that sets a quantity applies, before any column."""
    options: Literal["", "rest", "varied"] = ""
    """Scalar columns that are options of a case: all without a quantity, or those that differ between rows."""
    derived: tuple[str, ...] = ()
    """Patterns of columns that follow from others, or describe neither case nor result."""
    unread: tuple[str, ...] = ()
    """Patterns of columns that have no place in a session and aren't options of the case, either."""
    population: bool = False
    """Whether standard deviations are those of a population."""
    grid: bool = False
    """Whether the file is a table over options, so that missing combinations are worth reporting."""
    notes: tuple[str, ...] = ()
    """Caveats: ``{column}`` is the range of its numbers, ``{?column}`` requires a value, ``{+column}``
    one that isn't 0 or false. Left out otherwise."""

    def __post_init__(self) -> None:
        """Write out the columns that are listed in braces."""
        pairs = (pair for column, names in self.columns.items() for pair in _without_braces(column, names))
        msgspec.structs.force_setattr(self, "columns", dict(pairs))


def _without_braces(column: str, names: str | tuple[str, ...]) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Yield a column and its quantity, or each column that its name lists in braces."""
    match = _LISTED.search(column)
    if match is None or not isinstance(names, str):
        yield column, names
        return
    listed = match[1].split(",")
    fitting = (of for of in _BRACES.finditer(names) if not of[1] or of[1].count(",") == match[1].count(","))
    of = next(fitting, None)
    for word, quantity in zip(listed, of[1].split(",") if of and of[1] else listed, strict=True):
        inner = names.replace(of[0], quantity, 1) if of else names
        yield from _without_braces(column.replace(match[0], word), inner)


class Row(msgspec.Struct, frozen=True):
    """A row, and the objects that contain it, innermost first. A column that it lacks is looked up in those."""

    place: str
    levels: tuple[dict[str, object], ...]

    def get(self, column: str) -> object:
        """Return the value of a column, or of the first of several alternatives that has one.

        A path after ``^`` isn't looked up in the innermost object.
        """
        for path in column.split("|"):
            outer = len(path) - len(path.lstrip("^"))
            for level in self.levels[outer:]:
                value = _at(level, path[outer:])
                if value not in (None, "", [], {}):
                    return value
        return None


def _at(value: object, path: str) -> object:
    """Return the value at a dotted path. Keys may contain dots."""
    if isinstance(value, list):
        return _in_list(value, *path.partition(".")[::2])
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        key = ".".join(parts[:end])
        if key in value:
            return _at(value[key], ".".join(parts[end:]))
    return None


def _in_list(items: list[object], head: str, rest: str) -> object:
    """Return an item by its place, by a key and its value (``tag=mean``), or with ``*`` all of them."""
    if head == "*":
        return [_at(item, rest) if rest else item for item in items]
    key, sign, text = head.partition("=")
    chosen: object = None
    if sign:
        chosen = next((item for item in items if isinstance(item, dict) and str(item.get(key)) == text), None)
    elif head.isdecimal() and int(head) < len(items):
        chosen = items[int(head)]
    return _at(chosen, rest) if rest else chosen


def rows_of(source: Source, file_map: FileMap) -> list[Row]:
    """Return all rows of a file, each with the objects that contain it."""
    if file_map.transpose:
        return _transposed(source, file_map.transpose, by_column=file_map.rows == "*")
    if file_map.gather:
        names = dict.fromkeys(name for record in source.records for name in record.value)
        return [Row("", ({name: [one.value.get(name) for one in source.records] for name in names},))]
    rows = [row for record in source.records for row in _within(record, file_map)]
    if len(rows) > MOST_CASES:
        amounts = f"{len(rows):,} rows; at most {MOST_CASES:,} are imported"
        raise BenchtuiError(f"{source.path}: {amounts}: split or summarize them")
    return rows


def _transposed(source: Source, column: str, *, by_column: bool) -> list[Row]:
    if by_column:
        cells = [(str(record.value.get(column)), record.value) for record in source.records]
        names = [name for name in source.first if name != column]
        return [Row(name, ({metric: of.get(name) for metric, of in cells}, {"*": name})) for name in names]
    table: dict[str, object] = {}
    for record in source.records:
        rest = {name: cell for name, cell in record.value.items() if name != column}
        table.setdefault(str(record.value.get(column)), rest)
    return [Row("", (table,))]


def _within(record: Record, file_map: FileMap) -> list[Row]:
    rows = [Row(record.place, (record.value,))]
    for name in file_map.rows.split(".") if file_map.rows else []:
        rows = [inner for row in rows for inner in _inside(row, name, file_map)]
    return rows


def _inside(row: Row, name: str, file_map: FileMap) -> Iterator[Row]:
    """Yield the objects of a row's list of this name; the row itself if it has none and that is allowed."""
    value = row.levels[0]
    optional, key = name.startswith("?"), name.strip("?=")
    items: object = value if key == "*" else value.get(key)
    if optional and (not lacking(row, file_map) if key == "*" else items is None):
        yield row
        return
    items = [items] if name.endswith("=") else items
    named = items.items() if isinstance(items, dict) else enumerate(items) if isinstance(items, list) else ()
    inner = ((place, one) for place, item in named for one in (item if isinstance(item, list) else (item,)))
    for place, item in inner:
        if isinstance(item, dict):
            where, around = (str(place), ({"*": place},)) if key == "*" else (f"{key}[{place}]", ())
            yield Row(f"{row.place}: {where}".lstrip(": "), (item, *around, *row.levels))


def lacking(row: Row, file_map: FileMap) -> list[str]:
    """Return the identifying columns that a row lacks; a key without a value counts."""
    return [column for column in file_map.requires if not any(_has(row, path) for path in column.split("|"))]


def _has(row: Row, path: str) -> bool:
    head, _, last = path.rpartition(".")
    holders = [_at(level, head) if head else level for level in row.levels]
    return any(isinstance(holder, dict) and last in holder for holder in holders) or row.get(path) is not None


def filled(text: Text, row: Row) -> str:
    """Fill in the columns of a text; empty if one is unknown."""
    for pattern in (text,) if isinstance(text, str) else text:
        cells = {match: row.get(match[2]) for match in _PLACEHOLDER.finditer(pattern)}
        required = [cell for match, cell in cells.items() if match[1] == "+"]
        if None not in cells.values() and not any(plain(cell) in _NOTHING for cell in required):
            return _PLACEHOLDER.sub(lambda match: "" if match[1] == "?" else words(row.get(match[2])), pattern)
    return ""


def columns_in(text: Text) -> set[str]:
    """Return the columns that a text names."""
    patterns = (text,) if isinstance(text, str) else text
    return {column for pattern in patterns for _, column in _PLACEHOLDER.findall(pattern)}


def with_ranges(note: str, rows: list[Row]) -> str:
    """Fill in the range of the positive numbers of each column of a note; empty if one has none."""
    for sign, column in set(_PLACEHOLDER.findall(note)):
        cells = [plain(cell) for row in rows if not is_empty(cell := row.get(column))]
        numbers = [float(text) for text in cells if _NUMBER.fullmatch(text) and float(text) > 0]
        stated = [text for text in cells if text not in _NOTHING] if sign == "+" else cells
        if not (stated if sign else numbers):
            return ""
        span = "" if sign else f"{min(numbers):.4g} to {max(numbers):.4g}"
        note = note.replace(f"{{{sign}{column}}}", span)
    return note


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")


def plain(cell: object) -> str:
    """Format a cell to be compared: a number without trailing zeros, however it was written."""
    text = words(cell)
    return f"{float(text):g}" if _NUMBER.fullmatch(text) else text


def words(cell: object) -> str:
    """Format a cell in a name: a table as ``name=value``, a number without a trailing zero."""
    if isinstance(cell, dict):
        return " ".join(f"{name}={words(value)}" for name, value in cell.items())
    if isinstance(cell, list):
        return " ".join(map(words, cell))
    if isinstance(cell, bool):
        return str(cell).lower()
    return " ".join((f"{cell:g}" if isinstance(cell, float) else str(cell)).split())


def scalars(value: object, place: str) -> Iterator[str]:
    """Yield the paths of the scalars and lists in an object. A list of objects has one path."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from scalars(item, f"{place}.{name}" if place else name)
    elif not is_empty(value):
        yield place

"""Decoding of untrusted files into typed records. Errors name the place, the value and what is allowed."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import inspect

from benchtui.sessions.errors import BenchtuiError, os_error_text
from benchtui.sessions.files import input_file
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted, shortened, visible

T = TypeVar("T")

MOST_BYTES = 500_000_000
"""Maximum size of a file. No benchmark result is larger."""
_LARGEST = 10**15

Positive = Annotated[float, msgspec.Meta(gt=0, le=_LARGEST)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]
UnixTime = Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800)]
"""In seconds, up to the year 9999."""
Whole = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]

MOST_IGNORED = 60
"""Maximum number of ignored fields to list in a note."""

_PLACE = re.compile(r" - at `(\$[^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_BYTE = re.compile(r" \(byte (\d+)\)$")
_BOM = "\ufeff"
"""Byte order mark, which spreadsheets write at the start of a CSV file."""


def read_text(path: Path) -> str:
    """Read a file's text. Raises BenchtuiError if it can't be read, is too large or isn't text."""
    try:
        return input_file.read_text(path, MOST_BYTES)
    except UnicodeDecodeError as error:
        raise BenchtuiError(f"{path}: not a UTF-8 text file") from error
    except (OSError, ValueError) as error:
        raise BenchtuiError(f"{path}: can't be read: {os_error_text(error)}") from error


def try_parse_json(text: str) -> object:
    """Parse JSON into plain values. None if the text as a whole isn't JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def parse_json(text: str, where: str) -> object:
    """Parse JSON into plain values. Raises BenchtuiError with line and column if it is invalid."""
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise BenchtuiError(f"{where}: not valid JSON: nested too deeply") from error
    except msgspec.MsgspecError as error:
        raise BenchtuiError(f"{where}: not valid JSON: {_malformed(text, str(error))}") from error


def object_keys(value: object) -> set[str]:
    """Return the keys of an object. Empty for any other value."""
    return set(value) if isinstance(value, dict) else set()


def keys_with_first_item(value: object, name: str) -> set[str]:
    """Return the keys of an object and of the first item in its list of this name."""
    items = value.get(name) if isinstance(value, dict) else None
    return object_keys(value) | object_keys(items[0] if isinstance(items, list) and items else None)


def parse_json_lines(text: str, where: str) -> list[tuple[str, object]]:
    """Parse JSON lines, each with its place for messages. Raises BenchtuiError for a line that isn't JSON."""
    numbered = ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())
    return [(f"{where}, line {number}", _line(line, number, where)) for number, line in numbered]


def _line(text: str, number: int, where: str) -> object:
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise BenchtuiError(f"{where}: not valid JSON: line {number} is nested too deeply") from error
    except msgspec.MsgspecError as error:
        raise BenchtuiError(f"{where}: not valid JSON: {_malformed(text, str(error), number)}") from error


def csv_columns(text: str) -> tuple[str, ...]:
    """Return the column names of a CSV table. Empty if the first line isn't CSV."""
    try:
        return tuple(next(csv.reader(text.partition("\n")[0].removeprefix(_BOM).splitlines()), ()))
    except csv.Error:
        return ()


def parse_csv(text: str, where: str) -> list[tuple[str, dict[str, str]]]:
    """Parse a CSV table: the non-empty cells of each row by column, with the row's place for messages.

    Raises:
        BenchtuiError: naming the line that isn't CSV, or has more values than there are columns.
    """
    reader = csv.DictReader(text.removeprefix(_BOM).splitlines(), restval="", strict=True)
    rows = []
    try:
        for row in reader:
            place = f"{where}, line {reader.line_num}"
            if None in row:
                raise BenchtuiError(f"{place}: more values than columns ({len(reader.fieldnames or ())})")
            rows.append((place, {name: cell for name, cell in row.items() if cell}))
    except csv.Error as error:
        raise BenchtuiError(f"{where}, line {reader.reader.line_num}: {error}") from error
    return rows


def _malformed(text: str, message: str, first: int = 1) -> str:
    """Describe where text stops being JSON, by line and column counted from 1, and why."""
    match = _BYTE.search(message)
    if match is None:
        read, why = text.rstrip(), "unexpected end of file"
    else:
        read = text.encode()[: int(match[1])].decode(errors="replace")
        why = message[: match.start()].removeprefix("JSON is malformed: ")
    line, column = first + read.count("\n"), len(read) - read.rfind("\n")
    return f"line {line}, column {column}: {shortened(why)}"


def convert(value: object, kind: type[T], where: str, *, from_text: bool = False) -> T:
    """Convert a value to a record of this type. With ``from_text``, numbers may be written as text.

    Raises:
        BenchtuiError: naming the place in the value, its content and what is allowed.
    """
    try:
        return msgspec.convert(value, kind, strict=not from_text)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BenchtuiError(f"{where}: {_explained(str(error), value)}") from error


def unknown_fields(value: object, kind: type) -> Iterator[str]:
    """Yield the fields of a value that this record type lacks. Null and empty values are skipped.

    Fields are dotted paths. The items of a list share one path.
    """
    return _ignored_fields(value, _type_info(kind), "")


def _ignored_fields(value: object, kind: inspect.Type, place: str) -> Iterator[str]:
    if isinstance(kind, inspect.UnionType):
        kind = next((member for member in kind.types if isinstance(member, _NESTING)), kind)
    if isinstance(value, list) and isinstance(kind, _LISTS):
        for item in value:
            yield from _ignored_fields(item, kind.item_type, place)
    elif isinstance(value, Mapping) and isinstance(kind, inspect.StructType):
        fields = {field.encode_name: field.type for field in kind.fields}
        for name, item in value.items():
            if name in fields:
                yield from _ignored_fields(item, fields[name], f"{place}{name}.")
            elif item not in (None, "", [], {}):
                yield f"{place}{name}"


@cache
def _type_info(kind: type) -> inspect.Type:
    return inspect.type_info(kind)


_LISTS = (inspect.ListType, inspect.VarTupleType)
_NESTING = (inspect.StructType, *_LISTS)


def ignored_fields_note(places: Iterable[str], remarks: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return a note that lists ignored fields, each once with its remark. Empty if there are none."""
    said = remarks or {}
    named = [
        visible(place, LONGEST_VALUE) + (f" ({said[place]})" if place in said else "")
        for place in dict.fromkeys(places)
    ]
    more = [f"{len(named) - MOST_IGNORED:,} more"] if len(named) > MOST_IGNORED else []
    return (f"ignored fields: {', '.join([*named[:MOST_IGNORED], *more])}",) if named else ()


def common_value(values: Iterable[str], what: str, where: str) -> str:
    """Return the value that all share. Raises BenchtuiError if there are several, or none."""
    distinct = list(dict.fromkeys(values))
    if not distinct:
        raise BenchtuiError(f"{where}: contains no measurements")
    if len(distinct) > 1:
        named = ", ".join(quoted(value) for value in distinct[:3])
        raise BenchtuiError(
            f"{where}: {len(distinct)} {what} ({named}); a session has only one, so split the file"
        )
    return distinct[0]


def _explained(message: str, value: object) -> str:
    """Rewrite a decoder's error: place and value first, then the reason."""
    message = message.removeprefix("Object ")
    match = _PLACE.search(message)
    if match is None:
        return shortened(message)
    reason = shortened(message[: match.start()])
    place = match[1].removeprefix("$").removeprefix(".") or "top level"
    if "missing required field" in reason:
        return f"{place}: {reason[0].lower()}{reason[1:]}"
    return f"{place} {quoted(_at(value, match[1]))}: {reason[0].lower()}{reason[1:]}"


def _at(value: Any, place: str) -> object:  # noqa: ANN401  (untrusted JSON)
    """Return the value at a path such as ``$.results[0].mean``. None if the path can't be followed."""
    for name, index in _STEP.findall(place):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value

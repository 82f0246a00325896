"""Text of a stranger's file into typed records; errors name the place, the value and what is allowed."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.visible import quoted, shortened

T = TypeVar("T")

MOST_BYTES = 512 * 1024 * 1024
"""Size of a file from which it is no result of a benchmark."""
_LARGEST = 10**15

Positive = Annotated[float, msgspec.Meta(gt=0, le=_LARGEST)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]
Whole = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]

_PLACE = re.compile(r" - at `(\$[^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def read_text(path: Path) -> str:
    """A file's text. Raises BenchtuiError where it can't be read, is too large or isn't text."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BenchtuiError(
                f"{path}: larger than {MOST_BYTES // 2**20} MiB, which no result of a benchmark is"
            )
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BenchtuiError(f"{path}: not a text file in UTF-8") from error
    except (OSError, ValueError) as error:
        raise BenchtuiError(f"{path}: can't be read: {getattr(error, 'strerror', None) or error}") from error


def parsed(text: str) -> object:
    """JSON as plain values, or None for what isn't JSON as a whole."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def whole(text: str, where: str) -> object:
    """JSON as plain values. Raises BenchtuiError for what isn't JSON as a whole."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BenchtuiError(f"{where}: not valid JSON: {error}") from error


def lines(text: str, where: str) -> list[tuple[str, object]]:
    """The values of JSON lines, each with its place. Raises BenchtuiError for a line that isn't JSON."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            place = f"{where}, line {number}"
            value = parsed(line)
            if value is None:
                raise BenchtuiError(f"{place}: {quoted(line)} is not a JSON object")
            found.append((place, value))
    return found


def typed(value: object, kind: type[T], where: str, *, from_text: bool = False) -> T:
    """A value as a record of this type; with ``from_text`` numbers may be written as text.

    Raises:
        BenchtuiError: naming the place in the value, what stands there and what is allowed.
    """
    try:
        return msgspec.convert(value, kind, strict=not from_text)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BenchtuiError(f"{where}: {_explained(str(error), value)}") from error


def agreed(values: Iterable[str], what: str, where: str) -> str:
    """The one value that all have. Raises BenchtuiError where there are several, or none at all."""
    distinct = list(dict.fromkeys(values))
    if not distinct:
        raise BenchtuiError(f"{where}: no measurement in it")
    if len(distinct) > 1:
        named = ", ".join(quoted(value) for value in distinct[:3])
        raise BenchtuiError(f"{where}: {len(distinct)} {what} ({named}); a session has one: split the file")
    return distinct[0]


def _explained(message: str, value: object) -> str:
    """What a decoder objects to, with the place in front and what stands there behind."""
    match = _PLACE.search(message)
    if match is None:
        return shortened(message)
    said = shortened(message[: match.start()])
    place = match[1].removeprefix("$").removeprefix(".") or "the whole"
    if "missing required field" in said:
        return f"{place}: {said[0].lower()}{said[1:]}"
    return f"{place} {quoted(_at(value, match[1]))}: {said[0].lower()}{said[1:]}"


def _at(value: Any, place: str) -> object:  # noqa: ANN401  (a stranger's JSON)
    """What stands at a place such as ``$.results[0].mean``; None where the path can't be followed."""
    for name, index in _STEP.findall(place):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value

"""Named values of a case as one line of text, such as ``block=64 layout=rows``, and their table in a sweep."""

import itertools
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted, visible
from benchtui.sessions.secrets import MASK
from benchtui.sessions.sweep import ranges

Scalar = int | float | bool | str

MOST_NAMES = 1_000
"""Maximum number of environment variables, or of parameters of a step."""

_FLAGS = {"true": True, "false": False}


def text_of(values: Mapping[str, object]) -> str:
    """Format named values as one line, in the order given."""
    return " ".join(_word(f"{name}={value}") for name, value in values.items())


def texts(line: str) -> dict[str, str]:
    """Parse a line of named values. Raises ValueError if it is malformed."""
    words = [word.partition("=") for word in shlex.split(line)]
    if any(not name or not sign for name, sign, _ in words):
        raise ValueError("not a list of name=value")
    return {name: value for name, _, value in words}


def scalars(line: str) -> dict[str, Scalar]:
    """Parse a line of named values; numbers, ``true`` and ``false`` are converted."""
    return {name: _scalar(text) for name, text in texts(line).items()}


def combinations(axes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return a line for every combination of the values, the last name varying fastest."""
    rows = itertools.product(*axes.values())
    return tuple(text_of(dict(zip(axes, row, strict=True))) for row in rows)


def axes_of(lines: Iterable[str]) -> dict[str, list[Scalar]]:
    """Return the values of each name in a product of all values: the inverse of ``combinations``."""
    values_by_name: dict[str, dict[Scalar, None]] = {}
    for line in lines:
        for name, value in scalars(line).items():
            values_by_name.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in values_by_name.items()}


def variables(value: object, where: str) -> dict[str, str]:
    """Parse a table of environment variables; an integer becomes its digits. Raises BenchtuiError."""
    if not isinstance(value, dict):
        raise BenchtuiError(f"{where}: {quoted(value)} is not a table of entries")
    _require_few_names(value, where)
    return {name: _variable(name, text, _within(where, name)) for name, text in value.items()}


def _variable(name: str, value: object, where: str) -> str:
    _require_name(name, where)
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or "\0" in text:
        raise BenchtuiError(f"{where}: {quoted(value)} is not text; write it in quotes")
    return text


def _within(where: str, name: str) -> str:
    return f"{where}.{visible(name, LONGEST_VALUE)}"


def _require_name(name: str, where: str) -> None:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise BenchtuiError(f"{where}: not a name: letters, digits and _")


def _require_few_names(value: Mapping[str, object], where: str) -> None:
    if len(value) > MOST_NAMES:
        raise BenchtuiError(f"{where}: {len(value):,} names; at most {MOST_NAMES:,} are allowed")


def axis(value: object, where: str) -> tuple[str, ...]:
    """Parse a table of names with their values into all combinations, or the text of a single one.

    Raises BenchtuiError.
    """
    axes: dict[str, tuple[str, ...]]
    if isinstance(value, str):
        try:
            axes = {name: (text,) for name, text in texts(value).items()}
        except ValueError as error:
            raise BenchtuiError(f"{where}: {quoted(value)}: {error}") from error
    elif isinstance(value, dict):
        axes = _values_by_name(value, where)
    else:
        raise BenchtuiError(f"{where}: {quoted(value)} is not a table of names with their values")
    for name in axes:
        _require_name(name, _within(where, name))
    return combinations(axes)


def _values_by_name(table: Mapping[str, object], where: str) -> dict[str, tuple[str, ...]]:
    """Parse the values of each name, as long as the number of their combinations is allowed."""
    _require_few_names(table, where)
    axes: dict[str, tuple[str, ...]] = {}
    count = 1
    for name, value in table.items():
        axes[name] = ranges.values(value, _within(where, name))
        count *= len(axes[name])
        if count > ranges.MOST_VALUES:
            more = " or more" if len(axes) < len(table) else ""
            raise BenchtuiError(
                f"{where}: {count:,} combinations{more}; at most {ranges.MOST_VALUES:,} are allowed"
            )
    return axes


def axis_of_variables(value: object, where: str) -> tuple[str, ...]:
    """Parse environment variables of cases. Raises BenchtuiError.

    The set of visible GPUs isn't a property of a case.
    """
    lines = axis(value, where)
    if any("CUDA_VISIBLE_DEVICES" in texts(line) for line in lines):
        raise BenchtuiError(f"{where}.CUDA_VISIBLE_DEVICES: can't be an axis; use axes.device, or env")
    return lines


def _word(pair: str) -> str:
    """Quote a pair as a shell needs it. A mask stays readable: its asterisks aren't a pattern here."""
    bare = pair.replace(MASK, "")
    return pair if shlex.quote(bare) == bare else shlex.quote(pair)


def _scalar(text: str) -> Scalar:
    if text in _FLAGS:
        return _FLAGS[text]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text:  # otherwise the text would change: 007, 1e3
            return number
    return text

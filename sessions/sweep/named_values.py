"""Named values of a case as one line of text, such as ``block=64 layout=rows``, quoted as in a shell."""

import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence

from benchtui.sessions.secrets import MASK

Scalar = int | float | bool | str

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
    found: dict[str, dict[Scalar, None]] = {}
    for line in lines:
        for name, value in scalars(line).items():
            found.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in found.items()}


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

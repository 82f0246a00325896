"""The values of one axis: lists, and the range syntax ``a..b``, ``a..b+step``, ``a..b*factor``."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TypeVar

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import LARGEST

T = TypeVar("T")

MOST_VALUES = 10_000
"""Values one axis may have; more is taken for a slip of the keyboard."""

_RANGE = re.compile(r"(\d{1,10})(?: *\.\. *(\d{1,10})(?: *([+*]) *(\d{1,10}))?)?", re.ASCII)
_FORMS = f'a whole number from 1 to {LARGEST}, a list of them, "a..b", "a..b+step" or "a..b*factor"'


def whole_numbers(value: object, where: str) -> tuple[int, ...]:
    """Expand an axis of whole numbers, each once, in the order written.

    Raises:
        BenchtuiError: naming the entry, the value and what is allowed.
    """
    return _distinct((_expand(item, where) for item in _items(value, where)), where)


def words(value: object, where: str, check: Callable[[str, str], str]) -> tuple[str, ...]:
    """Expand an axis of names; ``check(word, where)`` returns the word as it is kept, or raises."""
    return _distinct(([check(_word(item, where), where)] for item in _items(value, where)), where)


def one_of(allowed: Iterable[str]) -> Callable[[str, str], str]:
    """A check that accepts the words of a list, and suggests the nearest for any other."""
    known = tuple(allowed)

    def check(word: str, where: str) -> str:
        if word not in known:
            raise BenchtuiError(
                f"{where}: {word!r} is not known{nearest(word, known)}; allowed: {', '.join(known)}"
            )
        return word

    return check


def nearest(word: str, known: Iterable[str]) -> str:
    """A half-sentence that names the known word nearest to this one, or nothing."""
    found = get_close_matches(word, list(known), n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def _items(value: object, where: str) -> list[object]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    items = value if isinstance(value, list) else [value]
    if not items:
        raise BenchtuiError(f"{where}: the list is empty; give at least one value")
    return items


def _word(item: object, where: str) -> str:
    if not isinstance(item, str):
        raise BenchtuiError(f"{where}: {item!r} is not text; write it in quotes")
    return item


def _expand(item: object, where: str) -> Iterable[int]:
    if isinstance(item, int) and not isinstance(item, bool):
        return [_positive(item, item, where)]
    if isinstance(item, str) and (match := _RANGE.fullmatch(item.strip())):
        first, last = int(match[1]), int(match[2] or match[1])
        return _range(item, where, first, last, match[3] or "+", int(match[4] or 1))
    if item == "auto":
        raise BenchtuiError(f"{where}: 'auto' can't be measured yet by this version; allowed: {_FORMS}")
    raise BenchtuiError(f"{where}: {item!r} is not {_FORMS}")


def _range(item: str, where: str, first: int, last: int, operator: str, by: int) -> Iterable[int]:
    _positive(first, item, where)
    _positive(last, item, where)
    if last < first:
        raise BenchtuiError(f"{where}: {item!r} ends before it begins; the smaller number comes first")
    if by < (2 if operator == "*" else 1):
        raise BenchtuiError(f"{where}: {item!r} never gets on; a step is at least 1, a factor at least 2")
    if operator == "+":
        return range(first, last + 1, by)
    return _powers(first, last, by)


def _powers(first: int, last: int, factor: int) -> Iterable[int]:
    while first <= last:
        yield first
        first *= factor


def _positive(number: int, item: object, where: str) -> int:
    if not 1 <= number <= LARGEST:
        raise BenchtuiError(f"{where}: {item!r} is not {_FORMS}")
    return number


def _distinct(groups: Iterable[Iterable[T]], where: str) -> tuple[T, ...]:
    found: dict[T, None] = {}
    for group in groups:
        for value in group:
            found[value] = None
            if len(found) > MOST_VALUES:
                raise BenchtuiError(f"{where}: more than {MOST_VALUES:,} values")
    return tuple(found)

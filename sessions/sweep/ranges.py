"""Syntax of values: lists, ranges such as ``a..b``, ``a..b+step`` and ``a..b*factor``, numbers with units."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain, islice
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted
from benchtui.sessions.sweep.options import LARGEST

T = TypeVar("T")

MOST_VALUES = 10_000
"""Maximum number of values on one axis; anything more is treated as a typo."""
MOST_WITH_REPEATS = 10 * MOST_VALUES
"""Maximum number of values, repeated ones included: 10 kB of overlapping ranges can hold ten million."""
_LONGEST_TEXT = 100
"""Maximum characters of a quantity: the pattern takes quadratic time for many spaces."""

AUTO = "auto"
AT_MOST = "<="
_DURATION_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0}
_RANGE = re.compile(r"(\d{1,10})(?: *\.\. *(\d{1,10})(?: *([+*]) *(\d{1,10}))?)?", re.ASCII)

_OTHER_RANGE = re.compile(r"(\d{1,10}) *(?:-|:|to) *(\d{1,10})", re.ASCII)
"""Ranges as other tools write them."""


class Bounds(msgspec.Struct, frozen=True):
    """Smallest and largest allowed number of an axis."""

    least: int = 1
    most: int = LARGEST
    hints: dict[str, str] = {}
    """What to write for words that aren't numbers."""

    @property
    def forms(self) -> str:
        """Allowed syntax, in words."""
        ranges = '"a..b", "a..b+step" or "a..b*factor"'
        return f"a whole number from {self.least} to {self.most}, a list of them, {ranges}"


ANY_SIZE = Bounds()


def whole_numbers(value: object, where: str, bounds: Bounds = ANY_SIZE) -> tuple[int, ...]:
    """Expand an axis of integers, without duplicates, in the order written.

    Raises:
        BenchtuiError: With the entry, the value and what is allowed.
    """
    return _distinct((_expand(item, where, bounds) for item in _items(value, where)), where)


def values(value: object, where: str) -> tuple[str, ...]:
    """Expand an axis of any values as text: numbers, ranges of whole numbers, flags and words."""
    return _distinct((_any(item, where) for item in _items(value, where)), where)


def batch_sizes(value: object, where: str, bounds: Bounds = ANY_SIZE) -> object:
    """Parse the batch sizes, or a single ``auto`` or ``auto<=N``. Raises BenchtuiError."""
    items = value.split(",") if isinstance(value, str) else value
    words = (
        ["".join(item.split()) for item in items if isinstance(item, str)] if isinstance(items, list) else []
    )
    searches = [word for word in words if word.startswith(AUTO)]
    if not searches:
        return whole_numbers(value, where, bounds)
    if isinstance(items, list) and len(items) > 1:
        raise BenchtuiError(
            f"{where}: {quoted(value)}: 'auto' searches for the batch size and must be the only value"
        )
    (word,) = searches
    if word != AUTO:
        _, sign, most = word.partition(AT_MOST)
        whole_numbers(most if sign else word, where)
    return word


def words(value: object, where: str, check: Callable[[str, str], str]) -> tuple[str, ...]:
    """Expand an axis of names; ``check(word, where)`` returns the normalized word, or raises."""
    return _distinct(([_checked_word(item, where, check)] for item in _items(value, where)), where)


class Words(NamedTuple):
    """Words that are allowed as values of an entry."""

    allowed: tuple[str, ...]
    aliases: Mapping[str, str] = MappingProxyType({})
    """Further names, each with the word that replaces it."""
    hints: Mapping[str, str] = MappingProxyType({})
    """What to write instead of words that aren't allowed."""

    def named(self, word: str) -> str:
        """Return the allowed word that a word stands for, in any spelling; itself if there is none."""
        meanings = {**self.aliases, **{allowed: allowed for allowed in self.allowed}}
        names = {plain(name): meaning for name, meaning in meanings.items()}
        return word if word in self.allowed else names.get(plain(word), word)


def plain(name: str) -> str:
    """Return what the spellings of a value have in common, such as ``torch.float16`` and ``FLOAT-16``."""
    return re.sub(r"^torch\.|[-_ ]", "", american(name.lower()))


def american(name: str) -> str:
    """Return a name in American spelling, such as ``quantization``."""
    return re.sub(r"(?<=[a-z]{3})is(?=ation|er|ed?$)", "iz", name)


def one_of(words: Words, pattern: str = "", form: str = "") -> Callable[[str, str], str]:
    """Return a check that accepts these words and suggests what to write for any other.

    Words that match ``pattern`` are allowed too; ``form`` describes them.
    """
    forms = ", ".join((*words.allowed, form) if form else words.allowed)
    hints = {plain(name): hint for name, hint in words.hints.items()}

    def check(word: str, where: str) -> str:
        word = words.named(word)
        own_hint = hints.get(plain(word), "")
        if word not in words.allowed and (own_hint or not (pattern and re.fullmatch(pattern, word))):
            hint = f" ({own_hint})" if own_hint else nearest(word, words.allowed, words.aliases)
            raise BenchtuiError(f"{where}: {quoted(word)} is not recognized{hint}; allowed: {forms}")
        return word

    return check


LEAST_BEGINNING = 3
"""Letters from which the beginning of a word identifies it better than similar letters."""
LEAST_SIMILARITY = 0.6
"""Similarity of letters from which a word may be a misspelling of another one."""


def nearest(
    word: str,
    words: Iterable[str],
    aliases: Mapping[str, str] = MappingProxyType({}),
    similarity: float = LEAST_SIMILARITY,
) -> str:
    """Return a hint with a known word that begins with this one, or else the nearest, or an empty string.

    An alias stands for a known word, which the hint names.
    """
    from difflib import get_close_matches  # takes memory, and only mistakes need it

    names = [*words, *(alias for alias in aliases if len(alias) >= LEAST_BEGINNING)]
    begun = [name for name in names if len(word) >= LEAST_BEGINNING and name.startswith(word)]
    begun = begun or [name for name in names if sorted(name) == sorted(word)]  # two letters in wrong order
    matches = begun or (get_close_matches(word, names, 1, similarity) if len(word) <= LONGEST_VALUE else [])
    return f" (did you mean {aliases.get(matches[0], matches[0])!r}?)" if matches else ""


def _items(value: object, where: str) -> list[object]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    items = value if isinstance(value, list) else [value]
    if not items:
        raise BenchtuiError(f"{where}: the list is empty; give at least one value")
    return items


def _checked_word(item: object, where: str, check: Callable[[str, str], str]) -> str:
    word = check(str(item), where)  # first, since quotes don't help a value that isn't allowed
    if not isinstance(item, str) and word == str(item):  # true may stand for a word
        raise BenchtuiError(f"{where}: {quoted(item)} is not text; write it in quotes")
    return word


def _any(item: object, where: str) -> Iterable[str]:
    if isinstance(item, bool):
        return [str(item).lower()]
    if isinstance(item, str) and ".." in item and _RANGE.fullmatch(item.strip()):
        return map(str, _expand(item, where, Bounds(least=0)))
    if not isinstance(item, (str, int, float)) or "\0" in str(item):
        raise BenchtuiError(f"{where}: {quoted(item)} is neither text nor a number")
    return [str(item)]


def _expand(item: object, where: str, bounds: Bounds) -> Iterable[int]:
    if isinstance(item, int) and not isinstance(item, bool):
        return [_within(item, item, where, bounds)]
    if isinstance(item, str) and (match := _RANGE.fullmatch(item.strip())):
        first, last = (_within(int(end), item, where, bounds) for end in (match[1], match[2] or match[1]))
        return _range(item, where, (first, last), match[3] or "+", int(match[4] or 1))
    raise BenchtuiError(f"{where}: {quoted(item)} is not {bounds.forms}{_number_hint(item, bounds)}")


def _number_hint(item: object, bounds: Bounds) -> str:
    """Return what to write for a word, or for a range in another syntax."""
    text = str(item).strip().lower() if isinstance(item, str) else ""
    span = _OTHER_RANGE.fullmatch(text)
    hint = f'write "{span[1]}..{span[2]}"' if span else bounds.hints.get(text)
    return f" ({hint})" if hint else ""


def _range(item: str, where: str, ends: tuple[int, int], operator: str, by: int) -> Iterable[int]:
    first, last = ends
    if last < first:
        raise BenchtuiError(f"{where}: {quoted(item)}: start is larger than end")
    if by < (2 if operator == "*" else 1):
        raise BenchtuiError(
            f"{where}: {quoted(item)} never advances; a step is at least 1, a factor at least 2"
        )
    if operator == "+":
        if len(numbers := range(first, last + 1, by)) > MOST_VALUES:
            amount = f"{len(numbers):,} values; at most {MOST_VALUES:,} are allowed"
            raise BenchtuiError(f"{where}: {quoted(item)}: {amount}")
        return numbers
    if first == 0:
        raise BenchtuiError(f"{where}: {quoted(item)} never advances; a factor leaves 0 as it is")
    return _powers(first, last, by)


def _powers(first: int, last: int, factor: int) -> Iterable[int]:
    while first <= last:
        yield first
        first *= factor


def _within(number: int, item: object, where: str, bounds: Bounds) -> int:
    if not bounds.least <= number <= bounds.most:
        raise BenchtuiError(f"{where}: {quoted(item)} is not {bounds.forms}")
    return number


def _distinct(groups: Iterable[Iterable[T]], where: str) -> tuple[T, ...]:
    values = list(islice(chain.from_iterable(groups), MOST_WITH_REPEATS + 1))
    if len(values) > MOST_WITH_REPEATS:
        raise BenchtuiError(f"{where}: more than {MOST_WITH_REPEATS:,} values, repeated ones included")
    distinct = tuple(dict.fromkeys(values))
    if len(distinct) > MOST_VALUES:
        raise BenchtuiError(f"{where}: {len(distinct):,} values; at most {MOST_VALUES:,} are allowed")
    return distinct


def seconds(value: object) -> object:
    """Return a time in seconds; anything else as it is."""
    if value in ("0", "0.0"):
        return 0.0
    parsed = parse_quantity(value, _DURATION_UNITS_S) if isinstance(value, str) else value
    return value if parsed is None else parsed


def celsius(value: object) -> object:
    """Return a temperature in °C; anything else as it is."""
    parsed = parse_quantity(value.replace("°", ""), {"C": 1.0}) if isinstance(value, str) else value
    return value if parsed is None else parsed


def percent(value: object) -> object:
    """Return a share in percent; anything else as it is."""
    try:
        return float(value.strip().removesuffix("%")) if isinstance(value, str) else value
    except ValueError:
        return value


def parse_quantity(text: str, units: Mapping[str, float], *, whole: bool = False) -> float | None:
    """Parse numbers with units into the unit whose factor is 1. Return None if the text isn't valid.

    Args:
        text: Each unit at most once, the largest first: ``1h30m``, ``1.5 h``, ``8GB``. Case matters.
        units: Allowed units and their factors.
        whole: Accept only whole numbers of at most nine ASCII digits.
    """
    ordered = tuple(sorted(units, key=lambda unit: units[unit], reverse=True))
    match = _quantity_pattern(ordered, whole).fullmatch(text.strip()) if len(text) <= _LONGEST_TEXT else None
    if match is None or not any(match.groups()):
        return None
    return sum(float(part or 0) * units[unit] for part, unit in zip(match.groups(), ordered, strict=True))


@cache
def _quantity_pattern(units: tuple[str, ...], whole: bool) -> re.Pattern[str]:
    number = r"([0-9]{1,9})" if whole else r"(\d+(?:\.\d+)?)"
    return re.compile(" *".join(f"(?:{number} *{unit})?" for unit in units))

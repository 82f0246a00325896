"""Text of the report: session text made harmless, and numbers as a reader wants them."""

from math import isfinite

LEAST_SEPARATED = 10_000


def number(value: float | None, digits: int = 2) -> str | None:
    """A number with this many decimals; None for what is no number.

    Thousands are separated in whole numbers, and in those with decimals from five digits on.
    """
    if value is None or not isfinite(value):
        return None
    separator = "," if digits == 0 or abs(value) >= LEAST_SEPARATED else ""
    return f"{value:z{separator}.{digits}f}"


def time_ms(value: float | None) -> str | None:
    """Milliseconds to two decimals, and to four below one."""
    return number(value, 2 if value is None or abs(value) >= 1 else 4)


def percent(share: float | None, digits: int = 2) -> str | None:
    """A share of 1 in percent, without the sign for percent."""
    return None if share is None else number(100 * share, digits)


def signed_percent(share: float, digits: int = 2) -> str | None:
    """A change as a share of 1 in percent with its sign, without the sign for percent."""
    return f"{100 * share:+z,.{digits}f}" if isfinite(share) else None


def span(low: str | None, high: str | None) -> str | None:
    """Two formatted bounds as one text, or None where one is missing."""
    if low is None or high is None:
        return None
    return low if low == high else f"{low} to {high}"


def count(amount: int, noun: str) -> str:
    """An amount with its noun, in the plural where it is one."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def listed(words: list[str]) -> str:
    """Words as an enumeration: ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def capitalized(sentence: str) -> str:
    """A sentence with a capital letter at its begin, the rest as it is."""
    return sentence[:1].upper() + sentence[1:]

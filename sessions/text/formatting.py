"""Number formatting for reports and the screen: values, ratios, percentages, ranges and counts as text."""

from math import isfinite

LEAST_SEPARATED = 10_000
SMALL_RATIO = 0.1
"""Ratio below which four decimals are shown."""
NEAR_ONE = 0.1
"""Distance from 1 below which three decimals of a ratio are shown."""


def number(value: float | None, digits: int = 2) -> str | None:
    """Format a number with this many decimals; None if it isn't finite.

    Whole numbers get thousands separators, and those with decimals from five digits on.
    """
    if value is None or not isfinite(value):
        return None
    separator = "," if digits == 0 or abs(value) >= LEAST_SEPARATED else ""
    return f"{value:z{separator}.{digits}f}"


def time_ms(value: float | None) -> str | None:
    """Format milliseconds with two decimals, or four below 1."""
    return number(value, 2 if value is None or abs(value) >= 1 else 4)


def percent(share: float | None, digits: int = 2) -> str | None:
    """Format a share of 1 in percent, without the percent sign."""
    return None if share is None else number(100 * share, digits)


def signed_percent(share: float, digits: int = 2) -> str | None:
    """Format a change (a share of 1) in percent with its sign, without the percent sign."""
    return f"{100 * share:+z,.{digits}f}" if isfinite(share) else None


def ratio_text(value: float, like: float | None = None) -> str | None:
    """Format a ratio without its sign: three decimals near 1, four for small ones, otherwise two.

    ``like`` gives a bound the decimals of the ratio that it belongs to.
    """
    shown = value if like is None else like
    digits = 4 if shown < SMALL_RATIO else 3 if abs(shown - 1) < NEAR_ONE else 2
    return number(value, digits)


def ratio_span(low: float | None, high: float | None, like: float) -> str | None:
    """Format the bounds of the ratio ``like``; None if either is missing."""
    if low is None or high is None:
        return None
    return f"{ratio_text(low, like)} to {ratio_text(high, like)}"


def span(low: str | None, high: str | None) -> str | None:
    """Format a range from two formatted bounds; None if either is missing."""
    if low is None or high is None:
        return None
    return low if low == high else f"{low} to {high}"


def count(amount: int, noun: str) -> str:
    """Format an amount with its noun, in the plural unless it is 1."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def listed(words: list[str]) -> str:
    """Join words into an enumeration: ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def capitalized(sentence: str) -> str:
    """Return the sentence with a capital first letter, otherwise unchanged."""
    return sentence[:1].upper() + sentence[1:]

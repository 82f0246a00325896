"""Text and number formatting for the screen: sanitized text, units and significant digits."""

from collections import Counter
from collections.abc import Iterable
from math import floor, isfinite, log10

from rich.cells import cell_len, set_cell_size

from benchtui.sessions.sanitize import replace_unprintable
from benchtui.themes.symbols import Symbols

MOST_DECIMALS = 6
"""Digits after the point from which a small number is written with an exponent."""


def clean(text: str) -> str:
    """Remove characters that could control the terminal from external text."""
    return replace_unprintable(text, other="")


def fit(text: str, width: int, symbols: Symbols) -> str:
    """Pad text on the right, or shorten it with an ellipsis, to a width in cells."""
    if cell_len(text) <= width:
        return text + " " * (width - cell_len(text))
    room = width - len(symbols.ellipsis)
    return set_cell_size(text, room) + symbols.ellipsis if room > 0 else " " * max(0, width)


def milliseconds(value: float | None, symbols: Symbols) -> str:
    """Format a time in milliseconds, without the unit."""
    if value is None:
        return symbols.absent
    if 0 < value < 1:
        return f"{value:.3f}"
    return f"{value:,.2f}" if value < 100_000 else f"{value:,.0f}"


def significant(value: float | None, symbols: Symbols | None = None, digits: int = 3) -> str:
    """Format a number with three significant digits (or ``digits``), and all digits before the point."""
    if value is None or not isfinite(value):
        return symbols.absent if symbols else ""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - floor(log10(abs(rounded))))
    return f"{value:,.{decimals}f}" if decimals <= MOST_DECIMALS else f"{value:.{digits - 1}e}"


def figure(value: float | None, symbols: Symbols) -> str:
    """Format a value with three or four significant digits, or as a whole number from 1,000 on."""
    if value is None:
        return symbols.absent
    size = abs(value)
    digits = 0 if size >= 1000 or not size else 1 if size >= 100 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"


def rate(value: float | None, symbols: Symbols) -> str:
    """Format a rate per second, without the unit."""
    if value is None:
        return symbols.absent
    return f"{value:,.1f}" if value < 100_000 else f"{value:,.0f}"


def whole(value: float | None, symbols: Symbols) -> str:
    """Format a number without decimals."""
    return symbols.absent if value is None else f"{value:,.0f}"


def compact(value: float) -> str:
    """Format a value with three significant digits, without its unit; from 10,000 on in thousands."""
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(unit, 9_999.5):
            return f"{significant(value / unit)}{sign}"
    return significant(value)


def memory(value: float | None, symbols: Symbols) -> str:
    """Format a size given in MB (10**6 bytes) with three significant digits, as MB or GB."""
    if value is None:
        return symbols.absent
    return f"{value:.0f} MB" if value < 1000 else f"{significant(value / 1000)} GB"


def amount(count: int, noun: str) -> str:
    """Format a count with its noun, plural if needed."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def counted(names: Iterable[str]) -> str:
    """Format names with the number of each, such as ``2 x A, B``."""
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in Counter(names).items())


def duration(seconds: float) -> str:
    """Format a duration in its two most significant units."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} m {total % 60:02} s"
    return f"{total // 3600:,} h {total % 3600 // 60:02} m"


def percent(value: float | None, symbols: Symbols) -> str:
    """Format a percentage without the sign, with two significant digits below 10."""
    if value is None:
        return symbols.absent
    return f"{value:.2f}" if value < 1 else f"{value:.1f}"


def half_width(value: float | None, symbols: Symbols) -> str:
    """Format half the width of an interval in percent; above 100 the number itself means nothing."""
    if value is not None and value > 100:
        return f"{symbols.plus_minus}>100 %"
    return f"{symbols.plus_minus}{percent(value, symbols)} %"

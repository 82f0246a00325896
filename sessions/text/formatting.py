"""Number formatting for reports and the screen: values, ratios, percentages, ranges and counts as text.

One rule: three significant digits. Exceptions are relative to a whole: a ratio has three decimals near 1, and a
percentage has at most two.
"""

from math import floor, isfinite, log10

SIGNIFICANT = 3
"""Significant digits of a measured value. CSV and JSON have all."""
LOSS_DIGITS = 5
"""Significant digits of a loss."""
MOST_PERCENT_DIGITS = 2
"""Maximum number of decimals of a percentage."""
MOST_HALF_WIDTH = 100
"""Half the width of an interval, in percent, above which the exact number is meaningless."""
MB, MIB, GIB = 10**6, 2**20, 2**30
GIGA, TERA = 1e9, 1e12
MOST_DECIMALS = 6
"""Maximum number of decimals. A number that needs more gets an exponent."""
NEAR_ONE = 0.1
"""Distance from 1 below which a ratio has three decimals."""
RATIO_DECIMALS = 3
LARGE_RATIO = 10
"""Size from which a bound of a ratio near 1 doesn't get three decimals."""


class FormattedNumber(str):
    """A formatted number with its unrounded value, for sorting in a page."""

    __slots__ = ("value",)
    value: float

    def __new__(cls, text: str, value: float) -> "FormattedNumber":
        """Attach a value to its text."""
        made = super().__new__(cls, text)
        made.value = value
        return made


def number(
    value: float | None, digits: int | None = None, significant: int = SIGNIFICANT
) -> FormattedNumber | None:
    """Format a number with three significant digits (or ``significant``), or with ``digits`` decimals.

    Thousands are always separated. None if the number isn't finite.
    """
    if value is None or not isfinite(value):
        return None
    rounded = value
    if digits is None:
        rounded, digits = _significant(value, significant)
        if digits > MOST_DECIMALS:
            return FormattedNumber(f"{value:.{significant - 1}e}", value)
    return FormattedNumber(f"{rounded:z,.{digits}f}", value)


def _significant(value: float, significant: int = SIGNIFICANT) -> tuple[float, int]:
    """Round a value to significant digits. Also return the number of decimals to show."""
    rounded = float(f"{value:.{significant}g}")
    if not rounded:
        return 0.0, 0
    return rounded, max(significant - 1 - floor(log10(abs(rounded))), 0)


def time_ms(value: float | None) -> str | None:
    """Format milliseconds."""
    return number(value)


def loss(value: float | None) -> str | None:
    """Format a loss with five significant digits, because its changes are small."""
    return number(value, significant=LOSS_DIGITS)


def memory(value_mb: float | None, like_mb: float | None = None) -> str | None:
    """Format memory in the units of nvidia-smi, of 2**20 or 2**30 bytes; ``like_mb`` has the unit to use."""
    if value_mb is None:
        return None
    size, unit = memory_unit(value_mb if like_mb is None else like_mb)
    amount = value_mb * MB / size
    below_one = unit == "GiB" and like_mb is None and abs(amount) < 1
    return f"{number(amount, 2 if below_one else None)} {unit}"


def memory_unit(value_mb: float) -> tuple[int, str]:
    """Return the unit for memory of a size, in bytes, and its name: GiB where MiB would have four digits."""
    return (GIB, "GiB") if abs(_significant(value_mb * MB / MIB)[0]) >= 1000 else (MIB, "MiB")


def percent(share: float | None, digits: int | None = None) -> str | None:
    """Format a share of 1 in percent, without the percent sign."""
    return None if share is None else percentage(100 * share, digits)


def percentage(value: float | None, digits: int | None = None) -> str | None:
    """Format a value in percent, without the percent sign."""
    if value is None or not isfinite(value):
        return None
    if digits is None and (not value or _significant(value)[1] > MOST_PERCENT_DIGITS):
        digits = MOST_PERCENT_DIGITS
    return number(value, digits)


def half_width(value: float | None, over: str = "over ") -> str | None:
    """Format half the width of an interval in percent, without signs; above 100, only as ``over 100``."""
    if value is not None and isfinite(value) and value > MOST_HALF_WIDTH:
        return FormattedNumber(f"{over}{MOST_HALF_WIDTH}", value)
    return percentage(value)


def signed_percent(share: float, digits: int | None = None) -> str | None:
    """Format a change (a share of 1) in percent with its sign, without the percent sign."""
    if not isfinite(share):
        return None
    shown = percent(share, digits) or ""
    return FormattedNumber(shown if shown.startswith("-") else f"+{shown}", 100 * share)


def ratio_text(value: float, like: float | None = None) -> str | None:
    """Format a ratio without the × sign: three significant digits, or three decimals near 1.

    ``like`` is the ratio that a bound belongs to. If it is near 1, the bound gets three decimals, too.
    """
    near = abs((value if like is None else like) - 1) < NEAR_ONE and value < LARGE_RATIO
    return number(value, max(_significant(value)[1], RATIO_DECIMALS)) if near else number(value)


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


def not_measured_further(reason: str) -> str:
    """Return that a case isn't measured further, and why."""
    return f"not measured further: {reason}"


def capitalized(sentence: str) -> str:
    """Return the sentence with a capital first letter, otherwise unchanged."""
    return sentence[:1].upper() + sentence[1:]


_NAMES = ("Py", "Trans")
"""Beginnings of the names that titles have: Python, PyTorch, Transformers."""


def in_sentence(title: str) -> str:
    """Return a title with a small first letter, unless that is a symbol or begins an acronym or a name."""
    return title[:1].lower() + title[1:] if title[1:2].islower() and not title.startswith(_NAMES) else title

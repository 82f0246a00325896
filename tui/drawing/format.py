"""Text and number formatting for the screen: numbers as in the report, and a sign for a missing value."""

from collections import Counter
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

from benchtui.sessions.sanitize import replace_unprintable
from benchtui.sessions.text import formatting
from benchtui.themes.symbols import Symbols

_ASCII = str.maketrans(
    {"×": "x", "–": "-", "±": "+-", "µ": "u", "μ": "u", "…": "...", "≈": "~", "≤": "<=", "≥": ">=", "°": ""}
)


def clean(text: str) -> str:
    """Remove characters that could control the terminal from external text."""
    return replace_unprintable(text, other="")


def has_words(text: str, words: str) -> bool:
    """Return whether a text contains all words of a filter, ignoring case."""
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())


def fit(text: str, width: int, symbols: Symbols) -> str:
    """Pad text on the right, or shorten it with an ellipsis, to a width in cells."""
    if cell_len(text) <= width:
        return text + " " * (width - cell_len(text))
    room = width - len(symbols.ellipsis)
    return set_cell_size(text, room) + symbols.ellipsis if room > 0 else " " * max(0, width)


def significant(value: float | None, symbols: Symbols | None = None, digits: int = 3) -> str:
    """Format a number with three significant digits (or ``digits``)."""
    return formatting.number(value, significant=digits) or (symbols.absent if symbols else "")


def whole(value: float | None, symbols: Symbols) -> str:
    """Format a number without decimals."""
    return symbols.absent if value is None else f"{value:,.0f}"


def compact(value: float) -> str:
    """Format a value with three significant digits, without its unit; from 10,000 on in thousands."""
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(unit, 9_995):  # would be shown as 10,000
            return f"{significant(value / unit)}{sign}"
    return significant(value)


def best_rate(rate: float, unit: str, symbols: Symbols, decided: bool) -> str:
    """Format the rate of a session's best case, marked as approximate unless it surely is the best."""
    return f"{'' if decided else symbols.about}{compact(rate)} {unit}"


def memory(value: float | None, symbols: Symbols) -> str:
    """Format a size given in MB (10**6 bytes) in MiB or GiB, as nvidia-smi does."""
    return formatting.memory(value) or symbols.absent


def gibibytes(value_mb: float) -> float:
    """Convert MB (10**6 bytes) to GiB (2**30 bytes), the unit of a machine's memory, as in nvidia-smi."""
    return value_mb * formatting.MB / formatting.GIB


def counted(names: Iterable[str]) -> str:
    """Format names with their counts, such as ``2 x A, B``."""
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
    """Format a percentage without the sign."""
    return formatting.percentage(value) or symbols.absent


def half_width(value: float | None, symbols: Symbols) -> str:
    """Format half the width of an interval in percent, with its signs."""
    return f"{symbols.plus_minus}{half_width_number(value, symbols)} %"


def half_width_number(value: float | None, symbols: Symbols) -> str:
    """Format half the width of an interval in percent, without the signs."""
    return formatting.half_width(value, over=">") or symbols.absent


def ascii_text(text: str) -> str:
    """Replace the signs of a report. Other text, such as names, is kept."""
    return text.translate(_ASCII)

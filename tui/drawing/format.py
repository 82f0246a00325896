"""Text and number formatting for the screen: sanitized text, units and significant digits."""

from rich.cells import cell_len, set_cell_size

from benchtui.sessions.sanitize import replace_unprintable
from benchtui.themes.symbols import Symbols


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


def rate(value: float | None, symbols: Symbols) -> str:
    """Format a rate per second, without the unit."""
    if value is None:
        return symbols.absent
    return f"{value:,.1f}" if value < 100_000 else f"{value:,.0f}"


def whole(value: float | None, symbols: Symbols) -> str:
    """Format a number without decimals."""
    return symbols.absent if value is None else f"{value:,.0f}"


def megabytes(value: float | None, symbols: Symbols) -> str:
    """Format a size given in MB (10**6 bytes) as MB or GB."""
    if value is None:
        return symbols.absent
    if value < 1000:
        return f"{value:.0f} MB"
    return f"{value / 1000:.1f} GB" if value < 100_000 else f"{value / 1000:.0f} GB"


def amount(count: int, noun: str) -> str:
    """Format a count with its noun, plural if needed."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


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

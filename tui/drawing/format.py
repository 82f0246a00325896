"""Words and figures for the screen: cleaned text, and numbers with as many digits as they are worth."""

from rich.cells import cell_len, set_cell_size

from benchtui.themes.symbols import Symbols


def clean(text: str) -> str:
    """Text of a session or of another program, with all that a terminal could obey taken out."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " * letter.isspace() for letter in text)


def fit(text: str, width: int, symbols: Symbols) -> str:
    """Text padded on the right, or shortened with a sign that it was, to a width in cells."""
    if cell_len(text) <= width:
        return text + " " * (width - cell_len(text))
    room = width - len(symbols.ellipsis)
    return set_cell_size(text, room) + symbols.ellipsis if room > 0 else " " * max(0, width)


def milliseconds(value: float | None, symbols: Symbols) -> str:
    """A time in milliseconds, without its unit."""
    if value is None:
        return symbols.absent
    if 0 < value < 1:
        return f"{value:.3f}"
    return f"{value:,.2f}" if value < 100_000 else f"{value:,.0f}"


def rate(value: float | None, symbols: Symbols) -> str:
    """A rate in 1/s, without its unit."""
    if value is None:
        return symbols.absent
    return f"{value:,.1f}" if value < 100_000 else f"{value:,.0f}"


def whole(value: float | None, symbols: Symbols) -> str:
    """A figure without decimals."""
    return symbols.absent if value is None else f"{value:,.0f}"


def megabytes(value: float | None, symbols: Symbols) -> str:
    """A size given in units of 10**6 bytes, with the unit that suits it."""
    if value is None:
        return symbols.absent
    if value < 1000:
        return f"{value:.0f} MB"
    return f"{value / 1000:.1f} GB" if value < 100_000 else f"{value / 1000:.0f} GB"


def amount(count: int, noun: str) -> str:
    """So many of something."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """A span of time in the two units that matter."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} m {total % 60:02} s"
    return f"{total // 3600:,} h {total % 3600 // 60:02} m"


def percent(value: float | None, symbols: Symbols) -> str:
    """A share in percent, without its sign; two digits that count below ten."""
    if value is None:
        return symbols.absent
    return f"{value:.2f}" if value < 1 else f"{value:.1f}"

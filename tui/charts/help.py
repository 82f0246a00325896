"""Help for the Charts view: symbols."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def charts_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Charts view."""
    signs = (
        ("a b c", "a point of that line; the bar through it is its 95 % interval"),
        (f"{symbols.oom}{symbols.failed}{symbols.timeout}", "on the axis: out of memory, failed, timed out"),
        ("front", "no other case has more samples/s at no higher cost"),
    )
    return (("Signs", signs),)

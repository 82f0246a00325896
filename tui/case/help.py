"""Help for the case screen: symbols."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def case_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the case screen."""
    signs = (
        (symbols.ok, "requested, and confirmed by reading it back"),
        (symbols.failed, "requested, but not applied"),
        (symbols.absent, "not verified"),
        (symbols.above, "outlier: far outside normal variation; included in all metrics"),
    )
    return (("Signs", signs),)

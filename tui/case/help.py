"""Help for the case screen: symbols."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def case_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the case screen."""
    signs = (
        (symbols.ok, "asked for, and read back as such"),
        (symbols.failed, "asked for, and not in force"),
        (symbols.absent, "not read back"),
        (symbols.above, "outlier: so far off that something else must have happened; it stays in all figures"),
    )
    return (("Signs", signs),)

"""Help for the Library view: columns and outcomes."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def library_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Library view."""
    columns = (
        ("measured", "cases that ended well, of those that were planned"),
        ("samples/s", f"of the best case; {symbols.absent} where none was measured"),
        ("A B C", "the marked sessions; A is the base"),
        (symbols.flag, "what to know before believing the figures"),
    )
    outcomes = (
        (symbols.running, "running"),
        (symbols.ok, "completed"),
        (symbols.interrupted, "interrupted, cut off"),
        (symbols.failed, "failed, or not readable"),
    )
    return (("Columns", columns), ("Outcomes", outcomes))

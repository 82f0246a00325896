"""Help for the Library view: columns and outcomes."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def library_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Library view."""
    columns = (
        ("measured", "measured cases, of those planned"),
        ("best rate", f"throughput of the best case; {symbols.absent} if none was measured"),
        ("A B C", "the marked sessions; A is the base"),
        (symbols.flag, "caveats of the measurements"),
    )
    outcomes = (
        (symbols.running, "running"),
        (symbols.ok, "completed"),
        (symbols.interrupted, "interrupted, crashed"),
        (symbols.failed, "failed, unreadable"),
    )
    return (("Columns", columns), ("Outcomes", outcomes))

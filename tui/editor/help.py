"""Help for the sweep editor: value syntax and symbols."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def editor_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Sweep view."""
    values = (
        ("1,4,32", "these values; every combination is a case"),
        ("1..8", "all values from 1 to 8; 1..8+2: every second one"),
        ("1..128*2", "doubling from 1 to 128"),
    )
    signs = (
        (symbols.ok, "a case that will be measured; a value that is on"),
        (symbols.skipped, "a case that is off, saved as [[exclude]], or whose device isn't here"),
        (symbols.absent, "a skipped case: its options can't be combined"),
        ("12.3", "measured in an earlier session on this machine"),
        (f"{symbols.about}12.3", "estimated from cases with other options in earlier sessions"),
        (
            "12.3?",
            "a rough estimate: 2 operations per parameter and token (6 in training) at 100e9 per second on cpu "
            "and 10e12 on cuda; memory of only weights and libraries",
        ),
    )
    return (("Values", values), ("Signs", signs))

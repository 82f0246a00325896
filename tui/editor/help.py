"""Help for the sweep editor: value syntax and symbols."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def editor_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Sweep view."""
    values = (
        ("1,4,32", "these values; every combination of values is a case"),
        ("1..8", "all from 1 to 8; 1..8+2: every second one"),
        ("1..128*2", "doubled each time"),
    )
    signs = (
        (symbols.ok, "a case that will be measured; a value that is on"),
        (symbols.skipped, "switched off: saved as [[exclude]]"),
        (symbols.absent, "skipped, because it would mean nothing"),
        ("12.3", "as measured in an earlier session on this machine"),
        (f"{symbols.about}12.3", "by cases of other options in earlier sessions"),
        (
            "12.3?",
            "a guess: 2 operations a parameter and token, in training 6; 100e9 of them a second on cpu, "
            "10e12 on cuda; memory of weights and libraries alone",
        ),
    )
    return (("Values", values), ("Signs", signs))

"""Help for the Why page: symbols and columns."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def why_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Why page."""
    signs = (
        (symbols.chosen, "finding; green: measured directly, yellow: another cause is possible, gray: a hint"),
        (symbols.flag, "what to know before trusting the profile"),
    )
    columns = (
        ("ms", "time per step, excluding operators that it calls"),
        ("calls", "operators that Python calls; on a GPU, kernels and copies"),
        ("rate", "operations or bytes per second, by the shapes of the inputs"),
        ("% peak", "share of this machine's measured peak; cached: beyond the peak of memory"),
        ("gap, ms", "how much longer than in the case on the left"),
    )
    return (("Signs", signs), ("Columns", columns))

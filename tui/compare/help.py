"""Help for the Compare view: metrics and verdicts."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.pages.help import Section


def compare_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections of the Compare view."""
    metrics = (
        ("ratio", "speed relative to the base; above 1, the new session is faster"),
        ("interval", "95 % interval of the ratio: steps, fresh processes, sessions"),
        ("p50", "median step; the mean where the source kept no steps"),
        ("memory", "peak memory: on the device; on the processor, resident memory of the worker"),
        ("J/1k", "joules for a thousand samples"),
    )
    verdicts = (
        ("F faster", "the whole 99 % interval lies above 1 by more than 0.5 %"),
        ("S slower", "the whole 99 % interval lies below 1 by more than 0.5 %"),
        ("= same", "the whole 95 % interval lies within the margin (2 %)"),
        ("? unsure", "anything else; the selected row says why, and what would decide it"),
        ("r reported", "the source kept no steps, so its figures are shown as they are"),
        (f"{symbols.failed} lost", "measured in the base, planned and not measured in the new session"),
    )
    return (("Metrics", metrics), ("Verdicts", verdicts))

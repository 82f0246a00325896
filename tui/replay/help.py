"""Replay help: signs of the transport line, and the Monitor's help."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.monitor.help import monitor_help
from benchtui.tui.pages.help import Section
from benchtui.tui.replay.transport import SIGNS


def replay_help(symbols: Symbols) -> Sequence[Section]:
    """Return the help sections on the transport line, followed by the Monitor's."""
    kinds = {"outlier": "steps far from the rest", "throttled": "throttled, repeated, resumed, or a warning"}
    named = {kind: kinds.get(kind, f"case {kind}") for kind in ("begin", *kinds, "oom", "failed", "timeout")}
    named["begin"] = "a case starts"
    below = tuple((str(getattr(symbols, SIGNS[kind][0])), word) for kind, word in named.items())
    return (("Below the bar", below), *monitor_help(symbols))

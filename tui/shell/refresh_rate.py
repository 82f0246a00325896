"""Refresh rate of the Monitor, and what its drawing costs."""

import time
from typing import Literal

import msgspec

from benchtui.themes.symbols import Symbols

HZ, QUIET_HZ = 2.0, 1.0
FEW_PROCESSORS = 2
"""Processors up to which ``auto`` is quiet: there, drawing slowed a step of 6 ms by up to 0.4 ms."""
Quiet = Literal["auto", "on", "off"]
"""Whether to draw once a second while a case is measured; ``auto`` does so on few processors."""


class RefreshRate:
    """Twice a second, or once while a case is measured and drawing could disturb it."""

    def __init__(self, quiet: Quiet = "auto") -> None:
        self._mode: Quiet = quiet

    def toggle(self, processors: int | None) -> None:
        """Toggle quiet mode."""
        self._mode = "off" if self.quiet(True, processors) else "on"

    def quiet(self, measuring: bool, processors: int | None) -> bool:
        """Return whether to be quiet, given whether a case is measured and the number of processors."""
        few = processors is not None and processors <= FEW_PROCESSORS
        return measuring and (self._mode == "on" or (few and self._mode == "auto"))


class Cost(msgspec.Struct, frozen=True):
    """Resources that the screen has used so far."""

    at_s: float
    cpu_s: float
    written: int | None
    """Bytes sent to the terminal; None if not counted."""

    @classmethod
    def now(cls, written: int | None) -> "Cost":
        """Return the resources used so far."""
        return cls(time.monotonic(), time.process_time(), written)


class Meter:
    """Measures the cost of the screen about once a second, on request."""

    def __init__(self, symbols: Symbols) -> None:
        self.words = ""
        """Cost over the last second, as text; empty while not requested."""
        self._symbols = symbols
        self._before: Cost | None = None

    def toggle(self, written: int | None) -> None:
        """Start or stop measuring."""
        self._before = None if self._before else Cost.now(written)
        self.words = "measuring the UI" if self._before else ""

    def update(self, written: int | None, engine_percent: float | None) -> None:
        """Update the text once a second has passed."""
        now = Cost.now(written)
        if self._before is not None and now.at_s - self._before.at_s >= 1:
            self.words = cost_text(self._before, now, engine_percent, self._symbols)
            self._before = now


def cost_text(before: Cost, after: Cost, engine_percent: float | None, symbols: Symbols) -> str:
    """Format what the screen used between two moments, and the engine's CPU share."""
    import psutil  # needed only on request

    span_s = max(after.at_s - before.at_s, 1e-6)
    words = [f"UI {100 * (after.cpu_s - before.cpu_s) / span_s:.1f} % CPU"]
    if before.written is not None and after.written is not None:
        words.append(f"{(after.written - before.written) / span_s / 1000:.1f} kB/s")
    words.append(f"{psutil.Process().memory_info().rss / 1e6:.0f} MB")
    if engine_percent is not None:
        words.append(f"engine {engine_percent:.1f} % CPU")
    return f" {symbols.dot} ".join(words)

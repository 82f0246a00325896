"""Refresh rate of the Monitor: as requested, or lower where drawing would disturb the measurement."""

import time
from collections.abc import Callable
from typing import Literal

import msgspec

from benchtui.themes.symbols import Symbols

RATES_HZ = (0.5, 1.0, 2.0, 5.0, 10.0)
DEFAULT_HZ = 2.0
QUIET_HZ = 1.0
FEW_PROCESSORS = 2
"""Processors up to which ``auto`` is quiet: drawing at 10 Hz slowed a step from 6.0 ms to 8.8 ms."""
CPU_SHARE = 0.02
"""Maximum share of one core that the screen should use during a case."""
WINDOW_S = 3.0
"""Minimum time over which that share is measured, so that a single frame doesn't change the rate."""

Quiet = Literal["auto", "on", "off"]
"""Whether to draw once a second while a case is measured; ``auto`` does so on few processors.

Unless it is ``off``, expensive frames are then drawn even less often.
"""


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


class DrawingCost:
    """CPU cost of reading the session and drawing it.

    Only the thread that does both is counted. Work that other threads do once per case isn't a cost of drawing.
    """

    def __init__(
        self, used_s: Callable[[], float] = time.thread_time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._used_s = used_s
        self._clock = clock
        self._frames = 0
        self._begun: tuple[float, float] | None = None
        """Clock and CPU time at the start of the current window."""
        self.most_hz = RATES_HZ[-1]
        """Highest rate at which reading and drawing together stay within ``CPU_SHARE``."""

    def count_frame(self) -> None:
        """Count a frame."""
        self._frames += 1

    def update(self) -> None:
        """Update the highest rate once a window is over.

        The first call only starts a window, because a whole session may have been read before it.
        """
        now_s, used_s = self._clock(), self._used_s()
        if self._begun is not None and now_s - self._begun[0] < WINDOW_S:
            return
        if self._begun is not None and self._frames and used_s > self._begun[1]:
            affordable_hz = self._frames * CPU_SHARE / (used_s - self._begun[1])
            self.most_hz = next((hz for hz in reversed(RATES_HZ) if hz <= affordable_hz), RATES_HZ[0])
        self._begun, self._frames = (now_s, used_s), 0


class Meter:
    """Measures the cost of the screen about once a second, on request."""

    def __init__(self, symbols: Symbols) -> None:
        self.words = ""
        """Cost over the last second, as text; empty while not requested."""
        self._symbols = symbols
        self._before: Cost | None = None
        self._due_s: float | None = None
        self._late_s = 0.0

    def schedule_next(self, seconds: float) -> None:
        """Record when the next frame is due, and how late this one is."""
        now_s = time.monotonic()
        if self._due_s is not None:
            self._late_s = max(self._late_s, now_s - self._due_s)
        self._due_s = now_s + seconds

    def toggle(self, written: int | None) -> None:
        """Start or stop measuring."""
        self._before = None if self._before else Cost.now(written)
        self.words = "measuring the UI" if self._before else ""

    def update(self, written: int | None, engine_percent: float | None) -> None:
        """Update the text once a second has passed."""
        if self._before is None:
            return
        now = Cost.now(written)
        if now.at_s - self._before.at_s >= 1:
            late = f" {self._symbols.dot} at most {1000 * self._late_s:.0f} ms late"
            self.words = cost_text(self._before, now, engine_percent, self._symbols) + late
            self._before, self._late_s = now, 0.0


def cost_text(before: Cost, after: Cost, engine_percent: float | None, symbols: Symbols) -> str:
    """Format what the screen used between two moments, and the engine's CPU share."""
    span_s = max(after.at_s - before.at_s, 1e-6)
    words = [f"UI {100 * (after.cpu_s - before.cpu_s) / span_s:.1f} % CPU"]
    if before.written is not None and after.written is not None:
        words.append(f"{(after.written - before.written) / span_s / 1000:.1f} kB/s")
    words.append(f"{resident_mb():.0f} MB")
    if engine_percent is not None:
        words.append(f"engine {engine_percent:.1f} % CPU")
    return f" {symbols.dot} ".join(words)


def resident_mb() -> float:
    """Return the resident memory of this process in MB (10**6 bytes)."""
    import psutil  # needed only on request

    return float(psutil.Process().memory_info().rss) / 1e6


class RefreshRate:
    """Refresh rate: what the user chose, within the limits."""

    def __init__(self, hz: float | None = None, quiet: Quiet = "auto") -> None:
        self.cost = DrawingCost()
        self._hz = hz or DEFAULT_HZ
        self._mode: Quiet = quiet

    def change(self, what: str, processors: int | None) -> None:
        """Draw ``faster``, which turns quiet mode off, or ``slower``, or toggle ``quiet`` mode."""
        if what == "quiet":
            self._mode = "off" if self._quiet(True, processors) else "on"
        elif what == "faster":
            self._mode = "off"
            self._hz = next((hz for hz in RATES_HZ if hz > self._hz), self._hz)
        else:
            self._hz = next((hz for hz in reversed(RATES_HZ) if hz < self._hz), self._hz)

    def hz(self, measuring: bool, processors: int | None) -> float:
        """Return the rate in Hz, given whether a case is measured and the number of processors."""
        hz = min(self._hz, QUIET_HZ) if self._quiet(measuring, processors) else self._hz
        return min(hz, self.cost.most_hz) if measuring and self._mode != "off" else hz

    def note(self, measuring: bool, processors: int | None) -> str:
        """Format the rate."""
        hz = self.hz(measuring, processors)
        quiet = hz < self._hz or self._quiet(measuring, processors)
        return f"quiet, {hz:g} Hz" if quiet else f"{hz:g} Hz"

    def _quiet(self, measuring: bool, processors: int | None) -> bool:
        few = processors is not None and processors <= FEW_PROCESSORS
        return measuring and (self._mode == "on" or (few and self._mode == "auto"))

"""How often the Monitor draws: what the reader asked for, less where drawing would disturb what it shows."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchtui.themes.symbols import Symbols

SHARE = 0.02
"""Of a processor: what the screen may take while a case is measured, as far as drawing less often helps."""
MOST_HZ = (10.0, 5.0, 2.0, 1.5, 1.0, 0.75, 0.5)
"""The rates to which drawing is held."""
CLEARLY = 0.8
"""Part of the share with which a more frequent rate has to do, so that two of them don't alternate."""
NEWEST = 0.3
"""Weight of the newest figure in a mean that forgets."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the screen has used up to a moment."""

    at_s: float
    cpu_s: float
    written: int | None
    """Bytes sent to the terminal; None where nobody counts."""

    @classmethod
    def now(cls, written: int | None) -> "Cost":
        """What has been used so far."""
        return cls(time.monotonic(), time.process_time(), written)


class DrawingCost:
    """What reading on takes of a processor, and what a picture takes with all that goes with it.

    Counted is the thread that does both: what others compute once for a case isn't the pictures' fault.
    """

    def __init__(
        self, used_s: Callable[[], float] = time.thread_time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._used_s = used_s
        self._clock = clock
        self._reading = 0.0
        """As a share of a processor."""
        self._picture_s = 0.0
        self._begun: tuple[float, float] | None = None
        """Clock and processor time at the beginning of the current span."""
        self._read_s = 0.0
        self._pictures = 0
        self.most_hz = MOST_HZ[0]
        """The most frequent of the rates at which reading and drawing together take no more than they may."""

    def read(self, on: Callable[[], None]) -> None:
        """Have the record read on, and count what that takes."""
        before_s = self._used_s()
        on()
        self._read_s += self._used_s() - before_s

    def drew(self) -> None:
        """Count a picture."""
        self._pictures += 1

    def look(self) -> None:
        """Take in what was used since the last look; before the first one a whole record may have been read."""
        now_s, used_s = self._clock(), self._used_s()
        if self._begun is not None and self._pictures and now_s > self._begun[0]:
            picture_s = (used_s - self._begun[1] - self._read_s) / self._pictures
            self._picture_s += NEWEST * (picture_s - self._picture_s)
            self._reading += NEWEST * (self._read_s / (now_s - self._begun[0]) - self._reading)
            self.most_hz = next((hz for hz in MOST_HZ if self._affords(hz)), MOST_HZ[-1])
        self._begun = (now_s, used_s)
        self._read_s, self._pictures = 0.0, 0

    def _affords(self, hz: float) -> bool:
        share = SHARE if hz <= self.most_hz else CLEARLY * SHARE
        return self._reading + self._picture_s * hz <= share


class Meter:
    """Measures the screen about once a second, while somebody wants to know."""

    def __init__(self, symbols: Symbols) -> None:
        self.words = ""
        """What the last second cost; nothing while it isn't wanted."""
        self._symbols = symbols
        self._before: Cost | None = None
        self._due_s: float | None = None
        self._late_s = 0.0

    def due_in(self, seconds: float) -> None:
        """Note when the next picture is due, and how late this one is."""
        now_s = time.monotonic()
        if self._due_s is not None:
            self._late_s = max(self._late_s, now_s - self._due_s)
        self._due_s = now_s + seconds

    def toggle(self, written: int | None) -> None:
        """Begin to measure, or stop."""
        self._before = None if self._before else Cost.now(written)
        self.words = "measuring the screen" if self._before else ""

    def weigh(self, written: int | None, engine_percent: float | None) -> None:
        """Renew the words once a second has passed."""
        if self._before is None:
            return
        now = Cost.now(written)
        if now.at_s - self._before.at_s >= 1:
            late = f" {self._symbols.dot} at most {1000 * self._late_s:.0f} ms late"
            self.words = cost_text(self._before, now, engine_percent, self._symbols) + late
            self._before, self._late_s = now, 0.0


def cost_text(before: Cost, after: Cost, engine_percent: float | None, symbols: Symbols) -> str:
    """What was used between two moments, and by the engine beside it."""
    span_s = max(after.at_s - before.at_s, 1e-6)
    words = [f"screen {100 * (after.cpu_s - before.cpu_s) / span_s:.1f} % CPU"]
    if before.written is not None and after.written is not None:
        words.append(f"{(after.written - before.written) / span_s / 1000:.1f} kB/s")
    words.append(f"{resident_mb():.0f} MB")
    if engine_percent is not None:
        words.append(f"engine {engine_percent:.1f} % CPU")
    return f" {symbols.dot} ".join(words)


def resident_mb() -> float:
    """Resident memory of this process, in units of 10**6 bytes."""
    import psutil  # only wanted when somebody asks for it

    return float(psutil.Process().memory_info().rss) / 1e6


RATES_HZ = (0.5, 1.0, 2.0, 5.0, 10.0)
DEFAULT_HZ = 2.0
QUIET_HZ = 1.0
FEW_PROCESSORS = 2
"""With no more than these, a screen at 10 Hz took a step of 6.0 ms to 8.8 ms."""

Quiet = Literal["auto", "on", "off"]
"""Whether the screen draws once a second while a case is measured; ``auto``: where there are few processors.
Unless it is ``off``, dear pictures are drawn even less often then."""


class Pace:
    """The rate of drawing."""

    def __init__(self, hz: float | None = None, quiet: Quiet = "auto") -> None:
        self.cost = DrawingCost()
        self._hz = hz or DEFAULT_HZ
        self._mode: Quiet = quiet

    def change(self, what: str, processors: int | None) -> None:
        """Draw ``faster`` or ``slower``, or be ``quiet``, on a machine of so many processors."""
        if what == "quiet":
            self.quiet(processors)
        else:
            (self.faster if what == "faster" else self.slower)()

    def faster(self) -> None:
        """Draw more often, while measuring on few processors too."""
        self._mode = "off"
        self._hz = next((hz for hz in RATES_HZ if hz > self._hz), self._hz)

    def slower(self) -> None:
        """Draw less often."""
        self._hz = next((hz for hz in reversed(RATES_HZ) if hz < self._hz), self._hz)

    def quiet(self, processors: int | None) -> None:
        """Be quiet while a case is measured, or not any more."""
        self._mode = "off" if self._quiet(True, processors) else "on"

    def hz(self, measuring: bool, processors: int | None) -> float:
        """The rate while a case is measured, or not, on a machine of so many processors."""
        hz = min(self._hz, QUIET_HZ) if self._quiet(measuring, processors) else self._hz
        return min(hz, self.cost.most_hz) if measuring and self._mode != "off" else hz

    def note(self, measuring: bool, processors: int | None) -> str:
        """The rate in words."""
        hz = self.hz(measuring, processors)
        quiet = hz < self._hz or self._quiet(measuring, processors)
        return f"quiet, {hz:g} Hz" if quiet else f"{hz:g} Hz"

    def _quiet(self, measuring: bool, processors: int | None) -> bool:
        few = processors is not None and processors <= FEW_PROCESSORS
        return measuring and (self._mode == "on" or (few and self._mode == "auto"))

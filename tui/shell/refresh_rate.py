"""How often the Monitor draws: what the reader asked for, less where drawing would disturb what it shows."""

from typing import Literal

from benchtui.tui.shell.drawing_cost import Spending

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
        self.spending = Spending()
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
        return min(hz, self.spending.most_hz) if measuring and self._mode != "off" else hz

    def note(self, measuring: bool, processors: int | None) -> str:
        """The rate in words."""
        hz = self.hz(measuring, processors)
        quiet = hz < self._hz or self._quiet(measuring, processors)
        return f"quiet, {hz:g} Hz" if quiet else f"{hz:g} Hz"

    def _quiet(self, measuring: bool, processors: int | None) -> bool:
        few = processors is not None and processors <= FEW_PROCESSORS
        return measuring and (self._mode == "on" or (few and self._mode == "auto"))

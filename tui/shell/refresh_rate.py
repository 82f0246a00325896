"""Refresh rate of the Monitor."""

from typing import Literal

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

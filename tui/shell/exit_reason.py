"""How a visit to the app ended, for the command line to put into words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

How = Literal["detached", "stopped", "finished", "cut off", "closed", "lost"]


@dataclass(frozen=True, slots=True)
class Ending:
    """What the reader left behind.

    ``detached``: the sweep goes on. ``stopped``: the reader ended it. ``finished``: it was over.
    ``cut off``: its engine is gone. ``closed``: nothing had been opened. ``lost``: the terminal went away.
    """

    how: How
    path: Path | None = None
    """The session that was shown."""

"""The places of the app, as the reader changes between them, and the news by which one leads to another."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from textual.message import Message

from benchtui.engine.client import Engine

Place = Literal["sweep", "monitor", "charts", "library", "compare"]
PLACES: tuple[Place, ...] = ("sweep", "monitor", "charts", "library", "compare")
"""In the order of their keys: ``1`` is the first."""


class Opened(Message):
    """A session was chosen to be looked at: its file, and the engine that writes it, if one does."""

    def __init__(self, path: Path, engine: Engine | None, *, replay: bool = False) -> None:
        super().__init__()
        self.path = path
        self.engine = engine
        self.replay = replay
        """Whether to play it from its beginning, as if live."""


class ComparisonAsked(Message):
    """Sessions were chosen to be held against each other, the base first."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        super().__init__()
        self.paths = paths


class EditAsked(Message):
    """A sweep was chosen to be edited: a preset's name or a TOML file, or the session whose sweep it is."""

    def __init__(self, source: str | Path) -> None:
        super().__init__()
        self.source = source


How = Literal["detached", "stopped", "finished", "cut off", "closed", "lost"]


@dataclass(frozen=True, slots=True)
class ExitReason:
    """What the reader left behind.

    ``detached``: the sweep goes on. ``stopped``: the reader ended it. ``finished``: it was over.
    ``cut off``: its engine is gone. ``closed``: nothing had been opened. ``lost``: the terminal went away.
    """

    how: How
    path: Path | None = None
    """The session that was shown."""

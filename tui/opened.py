"""News from the chooser to the app."""

from pathlib import Path

from textual.message import Message

from benchtui.engine.client import Engine


class Opened(Message):
    """A session was chosen: its file, and the engine that writes it, if one does."""

    def __init__(self, path: Path, engine: Engine | None) -> None:
        super().__init__()
        self.path = path
        self.engine = engine

"""Lines that the reader is asked to type: what for, what is wrong with them, what becomes of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError

Take = Callable[[str], str]
"""Takes what was typed; gives a word on why not, or nothing."""


def _nothing(text: str) -> str:
    return ""


@dataclass(slots=True)
class Asked:
    """A line that is being typed."""

    label: str
    """What is asked for."""
    value: str = ""
    """What stands there to begin with."""
    typed: Take = field(default=_nothing)
    """Takes every change while it is typed; gives a word on it."""
    entered: Take = field(default=_nothing)
    """Takes the whole line at its end; a word keeps the line open."""
    dropped: Callable[[], None] = field(default=lambda: None)
    """Called where the reader goes back."""


class Export:
    """A file that a report is to be written to; one that is there is overwritten only when asked for twice."""

    def __init__(self, write: Callable[[Path], None]) -> None:
        self._write = write
        self._warned: str | None = None

    def typed(self, text: str) -> str:
        """What would happen."""
        self._warned = None
        if not text.strip():
            return "a path is needed"
        path = Path(text).expanduser()
        if path.is_dir():
            return f"{path} is a folder"
        return f"{path} is there already" if path.exists() else ""

    def entered(self, text: str) -> str:
        """Write the report, or say why not yet."""
        warned = self._warned == text
        said = self.typed(text)
        if said and not (warned and said.endswith("already")):
            self._warned = text
            return f"{said}; enter once more to overwrite it" if said.endswith("already") else said
        self._write(Path(text).expanduser())
        return ""


def tried(attempt: Callable[[str], object], good: Callable[[object], str] = lambda made: "") -> Take:
    """What is wrong with a line, by trying what is to be done with it."""

    def take(text: str) -> str:
        try:
            return good(attempt(text))
        except BenchtuiError as error:
            return str(error)

    return take

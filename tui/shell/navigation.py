"""Views of the app, and the messages with which one opens another."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from textual.message import Message

from benchtui.engine.client import Engine
from benchtui.sessions.permissions.needed import NO_CONSENT, Consent
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.tui.shell.context import AppContext

Place = Literal["home", "sweep", "monitor", "charts", "library", "compare"]
PLACES: tuple[Place, ...] = ("home", "sweep", "monitor", "charts", "library", "compare")
"""In key order: ``0`` is the first."""


class Opened(Message):
    """Posted when a session is chosen: its file, and the engine that writes it, if any."""

    def __init__(
        self, path: Path, engine: Engine | None, *, replay: bool = False, instead_of: Path | None = None
    ) -> None:
        super().__init__()
        self.path = path
        self.engine = engine
        self.replay = replay
        """Whether to play it from its beginning, as if live."""
        self.instead_of = instead_of
        """Session that it replaces, unless another one is shown by now; None opens it in any case."""


class ComparisonRequested(Message):
    """Posted when sessions are chosen for comparison, the base first. The Library asks for a second one."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        super().__init__()
        self.paths = paths


class EditRequested(Message):
    """Posted when a sweep is chosen for editing: it, a preset's name, a TOML file, or a session that ran it."""

    def __init__(self, source: str | Path | Sweep) -> None:
        super().__init__()
        self.source = source


StartEngine = Callable[[AppContext, Consent, bool], Engine]
"""Start an engine; it waits for running sweeps if the flag is set. Raises BenchtuiError."""


def _nothing() -> None:
    """Do nothing after a start."""


class EngineRequested(Message):
    """Posted when a sweep is to be started, or a session continued."""

    def __init__(
        self,
        start: StartEngine,
        consent: Consent = NO_CONSENT,
        *,
        refused: Callable[[str], None],
        started: Callable[[], None] = _nothing,
        name: str = "this sweep",
        into: Path | None = None,
    ) -> None:
        super().__init__()
        self.start = start
        self.name = name
        """Name of the sweep or session in a question about permissions."""
        self.wait: bool | None = None
        """Whether to wait for other sweeps; None until the user has been asked, if there are any."""
        self.into = into
        """Session to which that sweep is appended at its end; None if it stays one of its own."""
        self.consent = consent
        """Permissions that the user has given."""
        self.refused = refused
        """Called with the reason if the engine isn't started; the reason is empty if the user went back."""
        self.started = started
        """Called once the engine has started."""


class BackRequested(Message):
    """Posted when a view has nothing left to go back from: the previous view is shown."""


How = Literal["detached", "stopped", "finished", "crashed", "closed", "lost", "failed"]


class ExitReason(msgspec.Struct, frozen=True):
    """Reason why the app ended, and the session it showed.

    ``detached``: the sweep continues. ``stopped``: the user stopped it. ``finished``: it was complete.
    ``crashed``: its engine died. ``closed``: no sweep was running. ``lost``: the terminal is gone.
    ``failed``: an exception ended the app.
    """

    how: How
    path: Path | None = None
    """Session that was shown."""
    session: Session | None = None
    """State of that session as shown. Reading a large session again would take seconds."""
    error: BaseException | None = None
    """Exception that ended the app."""

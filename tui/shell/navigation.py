"""Views of the app, and the messages with which one opens another."""

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass
class Opened(Message):
    """Posted when a session is chosen: its file, and the engine that writes it, if any."""

    path: Path
    engine: Engine | None
    replay: bool = False
    """Whether to play it from its beginning, as if live."""
    instead_of: Path | None = None
    """Session that it replaces, unless another one is shown by now; None opens it in any case."""


@dataclass
class ComparisonRequested(Message):
    """Posted when sessions are chosen for comparison, the base first. The Library asks for a second one."""

    paths: tuple[Path, ...]


@dataclass
class EditRequested(Message):
    """Posted when a sweep is chosen for editing: it, a preset's name, a TOML file, or a session that ran it."""

    source: str | Path | Sweep


StartEngine = Callable[[AppContext, Consent, bool], Engine]
"""Start an engine; it waits for running sweeps if the flag is set. Raises BenchtuiError."""


@dataclass(kw_only=True)
class EngineRequested(Message):
    """Posted when a sweep is to be started, or a session continued."""

    start: StartEngine
    consent: Consent = NO_CONSENT
    """Permissions that the user has given."""
    refused: Callable[[str], None]
    """Called with the reason if the engine isn't started; the reason is empty if the user went back."""
    started: Callable[[], None] = lambda: None
    """Called once the engine has started."""
    name: str = "this sweep"
    """Name of the sweep or session in a question about permissions."""
    into: Path | None = None
    """Session to which that sweep is appended at its end; None if it stays one of its own."""
    wait: bool | None = None
    """Whether to wait for other sweeps; None until the user has been asked, if there are any."""


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

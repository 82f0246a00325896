"""App context: access to engines, the session library and the working folder."""

import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Telemetry
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.library import paths
from benchtui.sessions.payloads import Host, MachineUsers
from benchtui.sessions.permissions.needed import Consent
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.sessions.stored_models.hub_cache import bundled_models
from benchtui.sessions.sweep import Config, Sweep
from benchtui.tui.shell.preferences import Preferences

if TYPE_CHECKING:
    from benchtui.sessions.advice.find_sweep import DeviceSupport

ANOTHER_SWEEP_RUNNING = "Another sweep is running on this machine; running both slows each down"
WAIT, START_ANYWAY = "wait, then start", "start anyway"
"""Answers to that, by ``w`` and ``y``."""


class AppContext(msgspec.Struct, frozen=True):
    """External dependencies of the app."""

    start: Callable[[Sweep, Consent, bool], Engine]
    """Start an engine on a sweep with a new session file. If the flag is set, it waits for the sweeps that are
    running. Raises BenchtuiError."""
    running: Callable[[], list[Engine]]
    """List the engines that respond, newest first."""
    find: Callable[[Path], Engine | None]
    """Return the engine that writes a session file; None if it isn't running."""
    recorded: Callable[[], list[SessionFile]]
    """List the sessions in the library, newest first."""
    name_of: Callable[[Path], str]
    """Return the name of a session on the command line."""
    folder: Path
    """Folder to search for sweeps."""
    resume: Callable[[Path, Consent, bool], Engine] = lambda path, consent, wait: client.resume(
        path, consent=consent, wait=wait
    )
    """Start an engine that resumes a session; it waits as with ``start``. Raises BenchtuiError."""
    preferences: Preferences = msgspec.field(default_factory=Preferences)
    """User preferences."""
    judging: VerdictSettings = SWEEP_DEFAULTS
    """Baseline and equivalence margin chosen by the user."""
    missing_device: Callable[[], Callable[[Config], str]] = lambda: lambda config: ""
    """Check this machine. The result returns why a case's device is missing; empty if present or unknown."""
    known: Callable[[], list[SessionFile]] | None = None
    """List the sessions that estimates learn from; None for those in the library."""
    device_support: Callable[[], "DeviceSupport"] = lambda: client.device_support(None)
    """Check which options are worth trying on this machine's first GPU, or else its CPU."""
    bundled: Callable[[], Mapping[str, Path]] = dict
    """Return the folders of the architectures that come with benchtui, by name."""
    watch: Callable[[Callable[[Host | Telemetry | MachineUsers], None]], Callable[[], None]] = lambda emit: (
        lambda: None
    )
    """Read this machine in a thread until the returned function is called."""
    hostname: str = msgspec.field(default_factory=platform.node)
    """Host name of this machine in session files."""

    def engines(self) -> list[Engine]:
        """List the engines that respond, newest first; none if the folder of their sockets can't be used."""
        with suppress(BenchtuiError):
            return self.running()
        return []

    @classmethod
    def here(cls, judging: VerdictSettings = SWEEP_DEFAULTS) -> "AppContext":
        """Create the context of this machine, the user's library and the working folder."""
        return cls(
            start=_start,
            running=client.running,
            find=client.find,
            recorded=paths.entries,
            known=paths.known,
            name_of=paths.library_name,
            folder=Path.cwd(),
            preferences=Preferences.of_user(),
            judging=judging,
            missing_device=lambda: client.find_cuda().missing_reason,
            bundled=bundled_models,
            watch=client.watch_machine,
        )


def _start(sweep: Sweep, consent: Consent, wait: bool) -> Engine:
    path = paths.new_path(sweep.name, datetime.now().astimezone())
    return client.start(sweep, path, consent, numbered=True, wait=wait)

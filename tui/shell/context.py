"""What the app reaches outside itself: engines, the library of sessions, the working folder."""

import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.library import paths
from benchtui.sessions.library.paths import SessionFile
from benchtui.sessions.state.judging import LEFT_TO_THE_SWEEP, Judging
from benchtui.sessions.sweep import Sweep
from benchtui.tui.shell.preferences import Preferences


@dataclass(frozen=True, slots=True)
class AppContext:
    """What the app reaches outside itself."""

    start: Callable[[Sweep], Engine]
    """Starts an engine on a sweep, with a session file where such files live; raises BenchtuiError."""
    running: Callable[[], list[Engine]]
    """Every engine that answers, the newest first."""
    find: Callable[[Path], Engine | None]
    """The engine that writes a session file, if it still runs."""
    recorded: Callable[[], list[SessionFile]]
    """Sessions of the library, the newest first."""
    name_of: Callable[[Path], str]
    """What the command line knows a session by."""
    folder: Path
    """Where to look for sweeps."""
    resume: Callable[[Path], Engine] = client.resume
    """Starts an engine that goes on with a session; raises BenchtuiError."""
    preferences: Preferences = field(default_factory=Preferences)
    """What the reader prefers."""
    judging: Judging = LEFT_TO_THE_SWEEP
    """By what the reader wants cases judged."""
    hostname: str = field(default_factory=platform.node)
    """What sessions call this machine."""

    @classmethod
    def here(cls, judging: Judging = LEFT_TO_THE_SWEEP) -> "AppContext":
        """The machine, the user's library of sessions, and the working folder."""
        return cls(
            start=lambda sweep: client.start(sweep, paths.new_path(sweep.name, datetime.now().astimezone())),
            running=client.running,
            find=client.find,
            recorded=paths.entries,
            name_of=library_name,
            folder=Path.cwd(),
            preferences=Preferences.of_user(),
            judging=judging,
        )


def library_name(path: Path) -> str:
    """What the command line takes for a session: its name in the library, or its path outside of it."""
    if path == paths.demo_path():
        return paths.DEMO
    return path.stem if path.parent == paths.folder() else str(path)

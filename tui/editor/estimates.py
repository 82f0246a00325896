"""What earlier sessions say of a sweep, kept until there are others. Blocks: for a thread. Knows no Textual."""

from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.history import Precedents, gather, subject
from benchtui.sessions.sweep import Sweep
from benchtui.tui.shell.context import Surroundings


class Learning:
    """Reads the library of sessions when it is asked about a sweep of another subject, or when it has grown."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._known: dict[tuple[object, ...], Precedents] = {}
        self._library: tuple[tuple[Path, bool], ...] = ()

    def precedents(self, sweep: Sweep) -> Precedents:
        """What there is to know; nothing where the library can't be read."""
        try:
            entries = self._surroundings.recorded()
        except BenchtuiError:
            return Precedents()
        library = tuple((entry.path, entry.finished) for entry in entries)
        if library != self._library:
            self._library = library
            self._known.clear()
        key = subject(sweep)
        if key not in self._known:
            self._known[key] = gather(entries, sweep, self._surroundings.hostname)
        return self._known[key]

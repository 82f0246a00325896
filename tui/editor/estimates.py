"""What earlier sessions say of a sweep, kept until there are others. Blocks: for a thread. Knows no Textual."""

from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.history import HistoryEstimator, load_history, workload_key
from benchtui.sessions.sweep import Sweep
from benchtui.tui.shell.context import AppContext


class HistoryCache:
    """Reads the library of sessions when it is asked about a sweep of another subject, or when it has grown."""

    def __init__(self, app_context: AppContext) -> None:
        self._app_context = app_context
        self._known: dict[tuple[object, ...], HistoryEstimator] = {}
        self._library: tuple[tuple[Path, bool], ...] = ()

    def precedents(self, sweep: Sweep) -> HistoryEstimator:
        """What there is to know; nothing where the library can't be read."""
        try:
            entries = self._app_context.recorded()
        except BenchtuiError:
            return HistoryEstimator()
        library = tuple((entry.path, entry.finished) for entry in entries)
        if library != self._library:
            self._library = library
            self._known.clear()
        key = workload_key(sweep)
        if key not in self._known:
            self._known[key] = load_history(entries, sweep, self._app_context.hostname)
        return self._known[key]

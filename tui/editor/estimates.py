"""History cache: predictions learned from earlier sessions. Independent of Textual.

Blocks while reading session files, so call it from a thread.
"""

from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.history import HistoryEstimator, load_history, workload_key
from benchtui.sessions.sweep import Sweep
from benchtui.tui.shell.context import AppContext


class HistoryCache:
    """History estimators by workload, discarded when the library changes."""

    def __init__(self, app_context: AppContext) -> None:
        self._app_context = app_context
        self._known: dict[tuple[object, ...], HistoryEstimator] = {}
        self._library: tuple[tuple[Path, bool], ...] = ()

    def estimator(self, sweep: Sweep) -> HistoryEstimator:
        """Return the estimator for a sweep; an empty one if the library can't be read."""
        try:
            entries = (self._app_context.known or self._app_context.recorded)()
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

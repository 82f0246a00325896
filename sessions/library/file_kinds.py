"""Kinds of files by content: a benchtui session, the results of another tool, or something else."""

from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.input_file import EVENT_PREFIX, begins_with


def holds_events(path: Path) -> bool:
    """Return whether a file begins with an event, and is therefore to be read as a session."""
    return begins_with(path, EVENT_PREFIX)


def tool_of(path: Path) -> str | None:
    """Return the tool whose results a file contains; None if it isn't supported."""
    from benchtui.sessions.importers import registry  # imports all formats, which the first paint doesn't need

    try:
        return registry.detect(path)
    except BenchtuiError:
        return None

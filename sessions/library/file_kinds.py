"""Kinds of files by content: a benchtui session, the results of another tool, or something else."""

from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.input_file import open_plain


def holds_events(path: Path) -> bool:
    """Return whether a file begins like a session."""
    try:
        with open_plain(path) as file:
            return b"".join(file.read(64).split()).startswith(b'[{"event"')
    except (OSError, ValueError):
        return False


def tool_of(path: Path) -> str | None:
    """Return the tool whose results a file contains; None if it isn't supported."""
    from benchtui.sessions.importers import registry  # imports all formats, which the first paint doesn't need

    try:
        return registry.detect(path)
    except BenchtuiError:
        return None

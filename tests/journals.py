"""Session files of given events, and of results of other tools."""

from collections.abc import Iterable
from pathlib import Path

from benchtui.sessions.events import AnyEvent, Resumed
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.state.session import Session, Summarize


def write_journal(path: Path, events: Iterable[AnyEvent], *, resumed: bool = False) -> Path:
    """Write a session file of these events, or append them to one, and return its path.

    A session that was resumed is written by several engines.
    """
    if not resumed:
        path.unlink(missing_ok=True)
    journal = Journal(path, resumed=resumed)
    for event in events:
        if isinstance(event, Resumed) and not resumed:
            journal.close()
            journal = Journal(path, resumed=True)
        journal.append(event)
    journal.close()
    return path


def import_results(
    source: Path, path: Path, *summarize: Summarize, kind: str | None = None, map_text: str | None = None
) -> Session:
    """Import results of another tool into a session file, and load it."""
    session_writer.write(registry.read(source, kind, map_text), path)
    return Session.load(path, *summarize)

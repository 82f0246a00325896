"""Results of other tools as sessions: recognised by their content, and written as the events we read."""

from benchtui.sessions.importers.registry import KINDS, read
from benchtui.sessions.importers.session_writer import notes, write

__all__ = ["KINDS", "notes", "read", "write"]

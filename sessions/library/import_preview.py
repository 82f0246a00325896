"""Preview of an import: the columns of a table that no tool is known for, and the cases that a map makes."""

from pathlib import Path

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers import mapping, own_export, proposal, registry, source
from benchtui.sessions.importers.imported import Imported, with_checked_repeats
from benchtui.sessions.importers.source import Source

MOST_ROWS = 3
"""Maximum number of cells of each column to show."""


class Table(msgspec.Struct, frozen=True):
    """Table that no tool is known for, with its proposed map."""

    content: Source
    map_text: str
    """Proposed map as the option ``--map`` takes it; empty if there is none."""
    problem: str = ""
    """Why no map is proposed."""

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Columns, each with its first cells."""
        records = self.content.records[:MOST_ROWS]
        names = dict.fromkeys(name for record in records for name in record.value)
        return [(name, ", ".join(_shown(record.value.get(name)) for record in records)) for name in names]


def _shown(cell: object) -> str:
    return "empty" if cell is None else str(cell)


def read(path: Path) -> Table | None:
    """Read a table; None if a tool is known for the file. Raises BenchtuiError if it can't be read."""
    content = source.read(path)
    if own_export.is_export(content) or registry.map_of(content) is not None:
        return None
    try:
        proposed = proposal.propose(content)
    except BenchtuiError as error:
        return Table(content, "", str(error).removeprefix(f"{path}: "))
    return Table(content, proposal.shown(proposed) if proposed else "")


def imported(table: Table, map_text: str) -> Imported:
    """Return the cases that a map makes. Raises BenchtuiError if it has an error, or makes none."""
    return with_checked_repeats(mapping.apply(table.content, proposal.given(map_text, table.content)))

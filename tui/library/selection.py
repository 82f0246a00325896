"""Library selection: filter, sort order, selected session, and marked sessions."""

from collections.abc import Sequence
from pathlib import Path

from benchtui.sessions.compare.align import LETTERS
from benchtui.tui.library.rows import ORDERS, Item, shown


class LibrarySelection:
    """All sessions, and which of them are shown, selected, and marked."""

    def __init__(self) -> None:
        self.words = ""
        """Filter words; empty to show all sessions."""
        self.order = ORDERS[0]
        self.rows: list[Item] = []
        """Sessions shown, in display order."""
        self.found: list[Item] = []
        """All sessions."""
        self._marked: list[Path] = []
        self._chosen: Path | None = None

    @property
    def chosen(self) -> Item | None:
        """Selected session; None if none is shown."""
        return self.rows[self.at] if self.rows else None

    @property
    def at(self) -> int:
        """Index of the selected row; 0 if the selected session is no longer shown."""
        return next((place for place, item in enumerate(self.rows) if item.path == self._chosen), 0)

    @property
    def marked(self) -> list[Item]:
        """Marked sessions in the order they were marked. The first is the base."""
        by_path = {item.path: item for item in self.found}
        return [by_path[path] for path in self._marked if path in by_path]

    @property
    def to_compare(self) -> list[Item]:
        """Marked sessions. If only one is marked, the selected session is added."""
        marked = self.marked
        joins = len(marked) == 1 and self.chosen is not None and self.chosen not in marked
        return [*marked, self.chosen] if joins and self.chosen else marked

    @property
    def running_paths(self) -> set[Path]:
        """Files that engines are writing."""
        return {item.path for item in self.found if item.engine is not None}

    def update(self, found: Sequence[Item]) -> None:
        """Update the list of sessions, and keep the selection valid."""
        at = self.at
        self.found = list(found)
        self._update_rows()
        if self.rows and all(item.path != self._chosen for item in self.rows):
            self._chosen = self.rows[min(at, len(self.rows) - 1)].path  # neighbor of a removed session

    def select(self, path: Path) -> None:
        """Select a session."""
        self._chosen = path

    def move(self, rows: int) -> None:
        """Move the selection by rows."""
        if self.rows:
            self._chosen = self.rows[min(max(self.at + rows, 0), len(self.rows) - 1)].path

    def move_wrapping(self, rows: int) -> None:
        """Move the selection by rows, wrapping around at the ends."""
        if self.rows:
            self._chosen = self.rows[(self.at + rows) % len(self.rows)].path

    def filter(self, words: str) -> None:
        """Show only sessions that match all words."""
        self.words = words
        self._update_rows()

    def sort(self, order: str | None = None) -> None:
        """Switch to a sort order, or to the next one."""
        self.order = order or ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self._update_rows()

    def toggle_mark(self) -> bool:
        """Toggle the mark of the selected session. Return False if no letter is left."""
        item = self.chosen
        if item is None:
            return True
        if item.path in self._marked:
            self._marked.remove(item.path)
        elif len(self.marked) == len(LETTERS):
            return False
        else:
            self._marked.append(item.path)
        return True

    def mark_base(self, path: Path) -> bool:
        """Mark a session as the base, and no other one. Return whether it is listed."""
        self._marked = [path]
        return bool(self.marked)

    def clear(self) -> bool:
        """Clear the filter; without one, clear the marks. Return False if there was neither."""
        cleared = bool(self.words or self.marked)
        if self.words:
            self.filter("")
        else:
            self._marked.clear()
        return cleared

    def letter(self, item: Item) -> str:
        """Return the letter of a marked session; empty if it isn't marked."""
        marked = [selected.path for selected in self.marked]
        return LETTERS[marked.index(item.path)] if item.path in marked else ""

    def _update_rows(self) -> None:
        self.rows = shown(self.found, self.words, self.order)

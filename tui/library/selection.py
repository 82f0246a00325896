"""Library selection: filter, sort order, selected session, and marked sessions."""

from pathlib import Path

from benchtui.sessions.compare.align import LETTERS
from benchtui.tui.library.rows import ORDERS, Item, shown
from benchtui.tui.table.selection import Selection


class LibrarySelection(Selection[Item]):
    """All sessions, and which of them are shown, selected, and marked."""

    def __init__(self) -> None:
        super().__init__(lambda item: item.path, lambda items, words: shown(items, words, self.order))
        self.order = ORDERS[0]
        self._marked: list[Path] = []

    @property
    def marked(self) -> list[Item]:
        """Marked sessions in the order they were marked. The first is the base."""
        by_path = {item.path: item for item in self.all}
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
        return {item.path for item in self.all if item.engine is not None}

    def sort(self, order: str | None = None) -> None:
        """Switch to a sort order, or to the next one."""
        self.order = order or ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self.refresh()

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

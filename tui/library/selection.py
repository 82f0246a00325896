"""Where a reader is in the library: the filter, the order, the chosen session and the marked ones."""

from collections.abc import Sequence
from pathlib import Path

from benchtui.sessions.compare.align import LETTERS
from benchtui.tui.library.rows import ORDERS, Item, shown


class LibrarySelection:
    """The sessions there are, and which of them are shown, chosen and marked."""

    def __init__(self) -> None:
        self.words = ""
        """What the shown sessions have in common; empty where all are shown."""
        self.order = ORDERS[0]
        self.rows: list[Item] = []
        """The sessions that are shown, in their order."""
        self.found: list[Item] = []
        """All of them."""
        self._marked: list[Path] = []
        self._chosen: Path | None = None

    @property
    def chosen(self) -> Item | None:
        """The session that keys act on."""
        return self.rows[self.at] if self.rows else None

    @property
    def at(self) -> int:
        """The chosen row, counted from 0; the first where the chosen session isn't shown any more."""
        return next((place for place, item in enumerate(self.rows) if item.path == self._chosen), 0)

    @property
    def marked(self) -> list[Item]:
        """The marked sessions in the order in which they were marked: the first is the base."""
        known = {item.path: item for item in self.found}
        return [known[path] for path in self._marked if path in known]

    @property
    def to_compare(self) -> list[Item]:
        """The marked sessions; the chosen one joins a single mark."""
        marked = self.marked
        joins = len(marked) == 1 and self.chosen is not None and self.chosen not in marked
        return [*marked, self.chosen] if joins and self.chosen else marked

    @property
    def busy(self) -> set[Path]:
        """The files that engines write."""
        return {item.path for item in self.found if item.engine is not None}

    def take(self, found: Sequence[Item]) -> None:
        """Take over what there is."""
        at = self.at
        self.found = list(found)
        self._arrange()
        if self.rows and all(item.path != self._chosen for item in self.rows):
            self._chosen = self.rows[min(at, len(self.rows) - 1)].path  # the neighbour of one that is gone

    def choose(self, path: Path) -> None:
        """Have the keys act on a session."""
        self._chosen = path

    def move(self, rows: int) -> None:
        """Choose another row."""
        if self.rows:
            self._chosen = self.rows[min(max(self.at + rows, 0), len(self.rows) - 1)].path

    def follow(self, rows: int) -> None:
        """Choose the next row or the one before, and go on at the other end."""
        if self.rows:
            self._chosen = self.rows[(self.at + rows) % len(self.rows)].path

    def filter(self, words: str) -> None:
        """Show what has all these words."""
        self.words = words
        self._arrange()

    def sort(self) -> None:
        """Go on to the next order."""
        self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        self._arrange()

    def mark(self) -> bool:
        """Mark the chosen session, or unmark it; False where there are as many as letters."""
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

    def clear(self) -> None:
        """Take one step back: first the filter goes, then the marks."""
        if self.words:
            self.filter("")
        else:
            self._marked.clear()

    def letter(self, item: Item) -> str:
        """The letter of a marked session, or an empty text."""
        marked = [each.path for each in self.marked]
        return LETTERS[marked.index(item.path)] if item.path in marked else ""

    def _arrange(self) -> None:
        self.rows = shown(self.found, self.words, self.order)

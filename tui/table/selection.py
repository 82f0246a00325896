"""Selection in a list: its items, the filter, and the selected one. Independent of Textual."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Selection(Generic[Item]):
    """All items, and which of them are shown and selected."""

    def __init__(
        self, key: Callable[[Item], Hashable], shown: Callable[[Sequence[Item], str], Iterable[Item]]
    ) -> None:
        """Create an empty list. ``shown`` returns the items that match the filter, in order."""
        self.all: list[Item] = []
        self.rows: list[Item] = []
        """Items shown."""
        self.words = ""
        """Filter; empty to show all."""
        self._key = key
        self._shown = shown
        self._chosen: Hashable = None

    @property
    def at(self) -> int:
        """Index of the selected row; 0 if the selected item isn't shown."""
        return next((place for place, item in enumerate(self.rows) if self._key(item) == self._chosen), 0)

    @property
    def chosen(self) -> Item | None:
        """Selected item; None if none is shown."""
        return self.rows[self.at] if self.rows else None

    def update(self, items: Iterable[Item]) -> None:
        """Replace all items. If the selected one isn't among them, its neighbor is selected."""
        at = self.at
        self.all = list(items)
        self.refresh()
        if self.rows and all(self._key(item) != self._chosen for item in self.rows):
            self.select_row(min(at, len(self.rows) - 1))

    def select(self, key: Hashable) -> None:
        """Select an item by its key."""
        self._chosen = key

    def select_row(self, row: int) -> None:
        """Select the item in a row."""
        self._chosen = self._key(self.rows[row])

    def move(self, rows: int, *, wrap: bool = False) -> None:
        """Move the selection by rows, up to the ends or around them."""
        if self.rows:
            row, count = self.at + rows, len(self.rows)
            self.select_row(row % count if wrap else min(max(row, 0), count - 1))

    def filter(self, words: str) -> None:
        """Show only the items that match these words."""
        self.words = words
        self.refresh()

    def refresh(self) -> None:
        """Filter and sort the items again."""
        self.rows = list(self._shown(self.all, self.words))

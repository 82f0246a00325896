"""Table order: which cases are shown, how they are sorted, which is selected. Independent of Textual."""

from collections.abc import Callable, Sequence

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.tui.drawing.format import has_words
from benchtui.tui.table.case_names import case_name
from benchtui.tui.table.columns import DEFAULT_COLUMNS, UNSORTED
from benchtui.tui.table.layout import Sorting
from benchtui.tui.table.mark_words import mark_word

Value = float | str | None
"""Value of a case in a column; None if unknown."""

BEST_FIRST = Sorting("samples", reverse=True)
"""Order of a session that is over, unless the user has chosen another one: cases to run, then the fastest."""


class TableOrder:
    """Order of the table's rows. Sorting puts running cases first and unknown values last."""

    def __init__(self, session: Session, value: Callable[[CaseState, str], Value]) -> None:
        self._session = session
        self._value = value
        self.chosen: int | None = None
        """Index of the selected case."""
        self.columns: tuple[str, ...] = DEFAULT_COLUMNS
        self.sorting: Sorting | None = None
        """None for queue order."""
        self._over = False
        self._to_run: frozenset[int] = frozenset()
        """Cases to run, once the session is over."""
        self.filter = ""
        """Words that a case must contain, in any order."""
        self._order: Sequence[int] = session.order
        self._known: object = None
        """State that the order was built from."""

    def copy_from(self, before: "TableOrder") -> None:
        """Copy columns, sorting, filter, and selection from another moment of the session."""
        self.columns, self.sorting, self.filter = before.columns, before.sorting, before.filter
        self._over = before._over
        self.chosen = before.chosen if (before.chosen or 0) < len(self._session.cases) else None

    @property
    def order(self) -> Sequence[int]:
        """Indices of the shown cases, from the first row to the last."""
        session = self._session
        running = frozenset(case.index for case in session.running)
        wanted = (self.sorting, self.filter, self._to_run)
        state = (id(session.order), len(session.order), running, session.done, wanted)
        if state != self._known:
            self._known = state
            shown = [index for index in session.order if not self.filter or self._matches(index)]
            self._order = self._sorted(shown, running, self.sorting) if self.sorting else shown
        return self._order

    def place(self, index: int | None) -> int | None:
        """Return the row of a case, or None if it isn't shown."""
        return self.order.index(index) if index in self.order else None

    def change(self, what: str, shown: CaseState | None) -> None:
        """Select the ``next`` or ``previous`` row, ``sort`` by the next column, or ``reverse``."""
        if what in ("next", "previous"):
            self.move(1 if what == "next" else -1, shown, wrap=True)
        elif what == "sort":
            self.sort_by_next()
        else:
            self.reverse()

    def move(self, rows: int, shown: CaseState | None, *, wrap: bool = False) -> None:
        """Move the selection by rows, up to the ends or around them. Without one, start at the shown case."""
        order = self.order
        if not order:
            return
        at = self.place((shown.index if shown else None) if self.chosen is None else self.chosen)
        place = (0 if rows > 0 else len(order) - 1) if at is None else at + rows
        self.chosen = order[place % len(order) if wrap else min(max(place, 0), len(order) - 1)]

    def sort_by_next(self) -> None:
        """Sort by the next column, starting with the case's options. After the last, restore queue order."""
        keys = (None, "case", *(key for key in self.columns if key not in UNSORTED))
        at = keys.index(self.sorting.key) if self.sorting and self.sorting.key in keys else 0
        key = keys[(at + 1) % len(keys)]
        self.sorting = None if key is None else Sorting(key)

    def sort_by(self, key: str) -> None:
        """Sort by a column if that is possible, or reverse the order if it is sorted by that column."""
        if self.sorting is not None and self.sorting.key == key:
            self.reverse()
        elif key not in UNSORTED:
            self.sorting = Sorting(key)

    def show_end(self, over: bool, to_run: frozenset[int] = frozenset()) -> None:
        """Put the best first once the session is over, unless the user has sorted; a replay may go back.

        ``to_run`` has the cases that the session's conclusions name.
        """
        self._to_run = to_run if over else frozenset()
        if over and not self._over and self.sorting is None:
            self.sorting = BEST_FIRST
        elif self._over and not over and self.sorting == BEST_FIRST:
            self.sorting = None
        self._over = over

    def select(self, row: int) -> None:
        """Select the case in a row."""
        self.chosen = self.order[row]

    def reverse(self) -> None:
        """Reverse the sort order."""
        if self.sorting is not None:
            self.sorting = Sorting(self.sorting.key, not self.sorting.reverse)

    def _sorted(self, shown: Sequence[int], running: frozenset[int], sorting: Sorting) -> Sequence[int]:
        values = {index: self._value(self._session.cases[index], sorting.key) for index in shown}
        first = [index for index in shown if index in running]
        others = [index for index in shown if index not in running]
        ranked = [index for index in others if values[index] is not None]
        ranked.sort(key=lambda index: values[index] or 0, reverse=sorting.reverse)
        if sorting == BEST_FIRST:
            ranked.sort(key=lambda index: index not in self._to_run)
        return [*first, *ranked, *(index for index in others if values[index] is None)]

    def _matches(self, index: int) -> bool:
        case = self._session.cases[index]
        texts = (case.name, case_name(case), case.state, mark_word(case.marks) or "", *case.marks)
        return has_words(" ".join(texts), self.filter)

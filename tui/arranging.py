"""Which cases the table shows, in what order, and which of them is chosen: plain state, knows no Textual."""

from collections.abc import Callable, Sequence

from benchtui.sessions.case_state import CaseState
from benchtui.sessions.session import Session
from benchtui.tui.widgets.rows import USUAL, Sorting

Value = float | str | None
"""What a case stands in a column with; None where nothing is known."""


class Arranging:
    """The order of the table's rows. Cases that run stand first, those of which nothing is known last."""

    def __init__(self, session: Session, value: Callable[[CaseState, str], Value]) -> None:
        self._session = session
        self._value = value
        self.chosen: int | None = None
        """Number of the case that the reader has chosen."""
        self.columns: tuple[str, ...] = USUAL
        self.sorting: Sorting | None = None
        """None: as the cases are queued."""
        self.filter = ""
        """Words that a case has to contain, in any order."""
        self._order: Sequence[int] = ()
        self._places: dict[int, int] | None = None
        self._known: object = None
        """What the order was made of."""
        self._texts: dict[int, str] = {}

    def take_over(self, before: "Arranging") -> None:
        """Show another moment of the same session as the one before was shown."""
        self.columns, self.sorting, self.filter = before.columns, before.sorting, before.filter
        self.chosen = before.chosen if (before.chosen or 0) < len(self._session.cases) else None

    @property
    def order(self) -> Sequence[int]:
        """Numbers of the cases that are shown, from the first row to the last."""
        session = self._session
        running = tuple(case.index for case in session.running)
        known = (id(session.order), len(session.order), running, session.done, self.sorting, self.filter)
        if known != self._known:
            self._known, self._places = known, None
            self._order = self._arranged(session.order, frozenset(running))
        return self._order

    def place(self, index: int | None) -> int | None:
        """The row of a case, or None where it isn't shown."""
        if index is None:
            return None
        order = self.order
        if self._places is None:
            self._places = {case: place for place, case in enumerate(order)}
        return self._places.get(index)

    def change(self, what: str, shown: CaseState | None) -> None:
        """Go to the ``next`` or ``previous`` row, ``sort`` by another column, or ``reverse`` the order."""
        if what in ("next", "previous"):
            self.match(1 if what == "next" else -1, shown)
        elif what == "sort":
            self.sort_by_next()
        else:
            self.reverse()

    def move(self, rows: int, shown: CaseState | None) -> None:
        """Choose another row; the first move begins at the case that is shown above."""
        order = self.order
        if not order:
            return
        at = self._place_of_chosen(shown)
        place = (0 if rows > 0 else len(order) - 1) if at is None else at + rows
        self.chosen = order[min(max(place, 0), len(order) - 1)]

    def match(self, step: int, shown: CaseState | None) -> None:
        """Choose the next row, and after the last one the first."""
        order = self.order
        at = self._place_of_chosen(shown)
        if order:
            self.chosen = order[((-1 if at is None else at) + step) % len(order)]

    def sort_by_next(self) -> Sorting | None:
        """Sort by the next column, the options first; after the last one as the cases are queued."""
        keys = (None, "case", *(key for key in self.columns if key != "notes"))
        at = keys.index(self.sorting.key) if self.sorting and self.sorting.key in keys else 0
        key = keys[(at + 1) % len(keys)]
        self.sorting = None if key is None else Sorting(key)
        return self.sorting

    def reverse(self) -> None:
        """Turn the order round."""
        if self.sorting is not None:
            self.sorting = Sorting(self.sorting.key, not self.sorting.reverse)

    def _place_of_chosen(self, shown: CaseState | None) -> int | None:
        return self.place((shown.index if shown else None) if self.chosen is None else self.chosen)

    def _arranged(self, queued: Sequence[int], running: frozenset[int]) -> Sequence[int]:
        shown = [index for index in queued if self._matches(index)] if self.filter.split() else queued
        if self.sorting is None:
            return shown
        key = self.sorting.key
        values = {index: self._value(self._session.cases[index], key) for index in shown}
        first = [index for index in shown if index in running]
        known = [index for index in shown if values[index] is not None and index not in running]
        known.sort(key=lambda index: values[index] or 0, reverse=self.sorting.reverse)
        return [*first, *known, *(index for index in shown if values[index] is None and index not in running)]

    def _matches(self, index: int) -> bool:
        case = self._session.cases[index]
        if index not in self._texts:
            self._texts[index] = case.name.lower()
        text = f"{self._texts[index]} {case.state} {' '.join(case.marks).lower()}"
        return all(word in text for word in self.filter.lower().split())

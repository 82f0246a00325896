"""Views of the catalogue: which quantities a table shows, in which order, and under which titles."""

from collections.abc import Callable, Container, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from benchtui.sessions.metrics.catalogue import BY_KEY, CATALOGUE
from benchtui.sessions.metrics.quantity import CaseData, Quantity, Reading

REST = "*"
"""Place in a layout for the quantities that join a view by their subject."""


class View(msgspec.Struct, frozen=True):
    """Layout of a table: quantities by key, and the table's own columns by name."""

    layout: tuple[str | Quantity, ...]
    subjects: tuple[str, ...] = ()
    """Subjects whose quantities join at ``REST`` unless the layout names them."""
    task: str = ""
    """Task whose own quantities join in the same way."""
    without: tuple[str, ...] = ()
    """Keys that would join but are left out."""

    def rows(self, own: Container[str] = ()) -> Iterator[Quantity | str]:
        """Yield the quantities in the order of the layout, and the names of the table's own columns.

        A name in ``own`` is a column of the table's own even if a quantity has it, too.
        """
        for row in self.layout:
            if row == REST:
                yield from self._joining()
            else:
                yield BY_KEY.get(row, row) if isinstance(row, str) and row not in own else row

    def leaving_out(self, *keys: str) -> "View":
        """Return the view without some quantities."""
        kept = tuple(row for row in self.layout if (row if isinstance(row, str) else row.key) not in keys)
        return replace(self, layout=kept, without=(*self.without, *keys))

    def _joining(self) -> Iterator[Quantity]:
        named = {*self.without, *(row if isinstance(row, str) else row.key for row in self.layout)}
        return (row for row in CATALOGUE if self.takes(row) and row.key not in named)

    def takes(self, row: Quantity) -> bool:
        """Return whether a quantity joins by itself unless the view leaves it out."""
        return row.subject in self.subjects or self.task in row.tasks


def shown(key: str, **changes: Any) -> Quantity:  # noqa: ANN401
    """Return a quantity with other fields than in the catalogue, such as a title for one view."""
    return replace(BY_KEY[key], **changes)


def short(*keys: str) -> tuple[Quantity, ...]:
    """Return quantities under their short titles."""
    return tuple(shown(key, title=BY_KEY[key].short) for key in keys)


def when(applies: Callable[[CaseData], bool], row: Quantity) -> Quantity:
    """Return a quantity that has a value only for some cases."""
    reading = Reading(row.reading.source, lambda data: row.read(data) if applies(data) else None)
    return replace(row, reading=reading)


def span_of(title: str, low: str, high: str) -> Quantity:
    """Return the range between two quantities of one unit."""
    ends = BY_KEY[low], BY_KEY[high]
    reading = Reading(ends[0].reading.source, lambda data: tuple(end.read(data) for end in ends))
    return replace(ends[0], key=f"{low} to {high}", title=title, reading=reading, kind=tuple, format="span")


def interval(key: str) -> Quantity:
    """Return the 95% interval of a quantity."""
    return span_of("95% interval", *BY_KEY[key].interval or ())

"""Library rows: what is known of each session; which are shown, in what order, selected, and marked."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from benchtui.engine.client import Engine
from benchtui.sessions.compare.align import LETTERS
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.library import operations, paths
from benchtui.sessions.library.summaries import Summary, SummaryCache
from benchtui.sessions.state.simulation import labeled
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, compact
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.shell.context import AppContext
from benchtui.tui.table.columns import Column
from benchtui.tui.table.layout import TableRow
from benchtui.tui.table.selection import Selection

COLUMNS = (
    Column("created", "date, UTC", 16, 3, words=True),
    Column("state", "outcome", 13, 0, words=True),
    Column("measured", "measured", 9, 2),
    Column("best", "best rate", 16, 1),
    Column("host", "host", 12, 4, words=True),
    Column("model", "model", 24, 5, words=True),
    Column("notes", "note", 10, 6, words=True),
)
"""Columns next to a session's name."""

ORDERS = ("date", "name", "host", "model", "measured", "outcome", "best rate")
"""Sort orders, in the order that the key binding cycles through."""

ROLES = {"running": "accent", "completed": "good", "interrupted": "warning", "crashed": "warning"}
"""Color role of each outcome; any other is ``bad``."""


class Item(msgspec.Struct, frozen=True):
    """Session in the list."""

    entry: SessionFile
    name: str
    """Name on the command line, sanitized."""
    note: str
    engine: Engine | None = None
    """Engine that is writing the session; None if there is none."""
    summary: Summary | None = None
    """None while an engine is running, and until the file has been read."""

    @property
    def path(self) -> Path:
        """Session file."""
        return self.entry.path

    @property
    def host(self) -> str:
        """Host name; empty if unknown."""
        return clean(self.entry.started.host.hostname or "")

    @property
    def model(self) -> str:
        """Model as named in the sweep."""
        return clean(self.entry.started.sweep.model)

    @property
    def label(self) -> str:
        """Name, with a word in front if the session was simulated."""
        return labeled(self.name, self.entry.started)

    @property
    def outcome(self) -> str:
        """``running``, the session's outcome, or empty while that is unknown."""
        if self.engine is not None:
            return "running"
        return self.summary.outcome if self.summary else ""

    @property
    def left(self) -> int:
        """Number of cases a resume would run. 0 while an engine is running, or if it wasn't measured here."""
        started = self.entry.started
        resumable = self.engine is None and started.source is None and started.simulated is None
        return self.summary.left if resumable and self.summary else 0

    @property
    def best(self) -> float | None:
        """Samples per second of the best case; None if unknown."""
        return self.summary.best.samples_per_s if self.summary and self.summary.best else None


def items(app_context: AppContext, summaries: SummaryCache) -> list[Item]:
    """List all sessions in the library or being written, with cached summaries only."""
    engines = {engine.path: engine for engine in app_context.engines()}
    entries = {entry.path: entry for entry in app_context.recorded()}
    elsewhere = (paths.entry_of(path) for path in engines if path not in entries)
    return [
        Item(
            entry,
            clean(app_context.name_of(entry.path)),
            clean(operations.note_of(entry.path)),
            engines.get(entry.path),
            None if entry.path in engines else summaries.known(entry.path),
        )
        for entry in (*(entry for entry in elsewhere if entry), *entries.values())
    ]


def with_summary(items: Iterable[Item], path: Path, summary: Summary) -> list[Item]:
    """Return the items with one session's summary replaced."""
    return [replace(item, summary=summary) if item.path == path else item for item in items]


def shown(items: Iterable[Item], words: str, order: str) -> list[Item]:
    """Return the items that match all words, sorted, running sessions first."""
    kept = sorted((item for item in items if matches(item, words)), key=_newest, reverse=True)
    kept.sort(key=_KEYS[order])
    return sorted(kept, key=lambda item: item.engine is None)


def matches(item: Item, words: str) -> bool:
    """Return whether name, host, model, note, or outcome contain every word, ignoring case."""
    text = " ".join((item.name, item.host, item.model, item.note, item.outcome)).casefold()
    return all(word in text for word in words.casefold().split())


def row(item: Item, letter: str, symbols: Symbols) -> TableRow:
    """Build an item's row. ``letter`` is its mark, or empty."""
    cells: dict[str, Span] = {
        "created": (clean(item.entry.started.created).replace("T", " ")[:16], "muted"),
        "state": _state(item, symbols),
        "measured": _measured(item),
        "best": ("" if item.outcome in ("", "running") else _rate(item, symbols), "plain"),
        "host": (item.host, "plain"),
        "model": (item.model, "plain"),
        "notes": (item.note, "muted"),
    }
    name = (
        f"{letter or ' '} {item.label}",
        "bright" if letter or item.engine else "plain",
    )
    return TableRow(name, cells)


def _rate(item: Item, symbols: Symbols) -> str:
    if item.summary is None or (best := item.summary.best) is None:
        return symbols.absent
    return f"{'' if best.decided else symbols.about}{compact(best.rate)} {best.unit}"


def _measured(item: Item) -> Span:
    """Format the number of measured cases, highlighted if a session has ended without any."""
    if item.summary is None or not item.summary.counts:
        return (f"of {len(item.entry.started.plan)}", "plain")
    nothing = not item.summary.measured and item.outcome != "running"
    return (f"{item.summary.measured}/{item.summary.cases}", "bad" if nothing else "plain")


def _state(item: Item, symbols: Symbols) -> Span:
    outcome = item.outcome
    signs = {
        "running": symbols.running,
        "completed": symbols.ok,
        "interrupted": symbols.interrupted,
        "crashed": symbols.interrupted,
    }
    if not outcome:
        return ("reading", "muted")
    return (f"{signs.get(outcome, symbols.failed)} {outcome}", ROLES.get(outcome, "bad"))


def _newest(item: Item) -> tuple[str, str]:
    return item.entry.started.created, item.path.stem


def _by_text(field: str) -> Callable[[Item], str]:
    return lambda item: str(getattr(item, field)).casefold()


_KEYS: dict[str, Callable[[Item], Any]] = {
    "date": lambda item: 0,
    "name": _by_text("name"),
    "host": _by_text("host"),
    "model": _by_text("model"),
    "measured": lambda item: -(item.summary.measured if item.summary else -1),
    "outcome": _by_text("outcome"),
    "best rate": lambda item: -(item.best or 0.0),
}
"""Sort keys by sort order, ascending. Equal items are sorted newest first."""


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

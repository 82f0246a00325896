"""Library rows: what is known of each session, which are shown, selected and marked; titles and hints."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchtui.engine.client import Engine
from benchtui.sessions.compare.align import LETTERS
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.library import operations, paths
from benchtui.sessions.library.summaries import Summary, SummaryCache
from benchtui.sessions.state.simulation import labeled
from benchtui.sessions.text.formatting import count
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import best_rate, clean, has_words
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, line
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.columns import Column
from benchtui.tui.table.layout import Arrangement, TableRow
from benchtui.tui.table.selection import Selection
from benchtui.tui.widgets.long_list import SCROLL_BAR

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


def shown(items: Iterable[Item], words: str, order: str) -> list[Item]:
    """Return the items that match all words, sorted, running sessions first."""
    kept = sorted((item for item in items if matches(item, words)), key=_newest, reverse=True)
    kept.sort(key=_KEYS[order])
    return sorted(kept, key=lambda item: item.engine is None)


def matches(item: Item, words: str) -> bool:
    """Return whether name, host, model, note, or outcome contain every word, ignoring case."""
    return has_words(" ".join((item.name, item.host, item.model, item.note, item.outcome)), words)


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
    name = (f"{letter or ' '} {item.label}", "bright" if letter or item.engine else "plain")
    return TableRow(name, cells)


def _rate(item: Item, symbols: Symbols) -> str:
    if item.summary is None or (best := item.summary.best) is None:
        return symbols.absent
    return best_rate(best.rate, best.unit, symbols, best.decided)


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


NARROWEST, WIDEST = 18, 48
"""Minimum and maximum width of a session's name in cells."""
OTHER_COLUMNS_WIDTH = 40
"""Cells reserved next to the name for outcome, cases, and best throughput."""


def list_title(selection: LibrarySelection) -> tuple[list[Span], list[Span]]:
    """Return the title of the list: the number of sessions, the filter, and the sort order."""
    sessions = count(len(selection.all), "session")
    amount = f"{len(selection.rows):,} of {sessions}" if selection.words else sessions
    left: list[Span] = [(amount, "strong")]
    if selection.words:
        left.append((f' matching "{clean(selection.words)}"', "accent"))
    return left, [(f"by {selection.order}", "muted")] if selection.all else []


def heading_lines(total: int, marked: Sequence[str], width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the names of the marked sessions, the base first, or how to mark some of the total."""
    if not total:
        return []
    if not marked:
        return [line((f"{key('library.mark')} marks sessions to compare; the first is the base", "muted"))]
    pieces: list[Span] = [("marked  ", "muted")]
    for letter, name in zip(LETTERS, marked, strict=False):
        base = " (base)" if letter == LETTERS[0] else ""
        pieces += [(f"{letter} ", "accent"), (f"{name}{base}   ", "plain")]
    return [line(*pieces)]


def arrangement(width: int, longest: int) -> Arrangement:
    """Return the columns that fit a width, given the length of the longest name."""
    share = max(NARROWEST, min(longest + 2, WIDEST, width - OTHER_COLUMNS_WIDTH))
    return Arrangement.of(width, share, COLUMNS)


def header_lines(longest: int, order: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the column titles, with the sort column highlighted; nothing without an order."""
    if not order:
        return []
    columns = arrangement(width - SCROLL_BAR, longest)
    cells = {
        column.key: (column.title, "accent" if order in (column.title.split(",")[0], column.title) else "muted")
        for column in columns.columns
    }
    name = ("  session", "accent" if order == "name" else "muted")
    return [columns.line(TableRow(name, cells), width, symbols)]


def order_at(cell: int, width: int, longest: int) -> str | None:
    """Return the sort order of the column at a cell of the header; None if sessions can't be sorted by it."""
    columns = arrangement(width - SCROLL_BAR, longest)
    key = columns.key_at(cell)
    title = next((column.title for column in columns.columns if column.key == key), "name")
    return next((order for order in ORDERS if order in (title.split(",")[0], title)), None)


def empty_lines(folder: str) -> list[Line]:
    """Render how to get a first session, for an empty library."""
    return [
        line(("no sessions yet", "strong")),
        BLANK,
        line(
            (key("app.sweep"), "accent"), ("  edit and start a sweep; its session is then listed here", "plain")
        ),
        line((key("library.import"), "accent"), ("  import a session file", "plain")),
        BLANK,
        line(("from the command line: ", "muted"), ("benchtui run quick", "plain")),
        line((f"sessions are stored in {clean(folder)}", "muted")),
    ]


def unmatched_lines(words: str) -> list[Line]:
    """Render a hint for a filter without matches."""
    return [
        line((f'no session matches "{clean(words)}"', "strong")),
        line((key("library.back"), "accent"), ("  shows all", "plain")),
    ]

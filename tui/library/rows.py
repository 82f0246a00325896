"""The sessions of the library as the screen lists them: what is known of each, found, filtered and sorted."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchtui.engine.client import Engine
from benchtui.sessions.library import operations, paths
from benchtui.sessions.library.paths import SessionFile
from benchtui.sessions.library.summaries import Catalogue, Summary
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, rate
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.shell.context import AppContext
from benchtui.tui.table.columns import Column
from benchtui.tui.table.layout import TableRow

COLUMNS = (
    Column("created", "date, UTC", 16, 3, words=True),
    Column("state", "outcome", 13, 0, words=True),
    Column("measured", "measured", 9, 2),
    Column("best", "samples/s", 10, 1),
    Column("host", "host", 12, 4, words=True),
    Column("model", "model", 24, 5, words=True),
    Column("notes", "note", 10, 6, words=True),
)
"""What stands beside a session's name; ``samples/s`` is that of its best case."""

ORDERS = ("date", "name", "host", "model", "measured", "outcome", "samples/s")
"""What the list can be sorted by, in the order in which a key goes through them."""

ROLES = {"running": "accent", "completed": "good", "interrupted": "warning", "cut off": "warning"}
"""Role of each outcome; any other is bad."""


@dataclass(frozen=True, slots=True)
class Item:
    """A session of the list."""

    entry: SessionFile
    name: str
    """What the command line knows it by, cleaned."""
    note: str
    engine: Engine | None = None
    """The engine that writes it, while one does."""
    summary: Summary | None = None
    """None while it runs, and until its file has been read."""

    @property
    def path(self) -> Path:
        """The session file."""
        return self.entry.path

    @property
    def host(self) -> str:
        """Name of the machine, or an empty text."""
        return clean(self.entry.started.host.hostname or "")

    @property
    def model(self) -> str:
        """The model as the sweep names it."""
        return clean(self.entry.started.sweep.model)

    @property
    def outcome(self) -> str:
        """``running``, how it ended, or an empty text before that is known."""
        if self.engine is not None:
            return "running"
        return self.summary.outcome if self.summary else ""

    @property
    def left(self) -> int:
        """Cases that a resume would run; none while an engine is at work, or where another tool measured."""
        known = self.engine is None and self.entry.started.source is None
        return self.summary.left if known and self.summary else 0

    @property
    def best(self) -> float | None:
        """Samples per second of the best case."""
        return self.summary.best.samples_per_s if self.summary and self.summary.best else None


def items(app_context: AppContext, catalogue: Catalogue) -> list[Item]:
    """Every session of the library and every one that is being written, as far as known without reading on."""
    engines = {engine.path: engine for engine in app_context.running()}
    entries = {entry.path: entry for entry in app_context.recorded()}
    elsewhere = (paths.entry_of(path) for path in engines if path not in entries)
    return [
        Item(
            entry,
            clean(app_context.name_of(entry.path)),
            clean(operations.note_of(entry.path)),
            engines.get(entry.path),
            None if entry.path in engines else catalogue.known(entry.path),
        )
        for entry in (*(entry for entry in elsewhere if entry), *entries.values())
    ]


def with_summary(found: Iterable[Item], path: Path, summary: Summary) -> list[Item]:
    """The items, one of which is now known better."""
    return [replace(item, summary=summary) if item.path == path else item for item in found]


def shown(found: Iterable[Item], words: str, order: str) -> list[Item]:
    """The items that have all the words somewhere, sorted; those that run come first."""
    kept = sorted((item for item in found if matches(item, words)), key=_newest, reverse=True)
    kept.sort(key=_KEYS[order])
    return sorted(kept, key=lambda item: item.engine is None)


def matches(item: Item, words: str) -> bool:
    """Whether name, host, model, note or outcome hold every word, in capitals or not."""
    text = " ".join((item.name, item.host, item.model, item.note, item.outcome)).casefold()
    return all(word in text for word in words.casefold().split())


def row(item: Item, letter: str, symbols: Symbols) -> TableRow:
    """An item as a row of the list; ``letter`` is its mark, or empty."""
    cells: dict[str, Span] = {
        "created": (clean(item.entry.started.created).replace("T", " ")[:16], "muted"),
        "state": _state(item, symbols),
        "measured": _measured(item),
        "best": ("" if item.outcome in ("", "running") else rate(item.best, symbols), "plain"),
        "host": (item.host, "plain"),
        "model": (item.model, "plain"),
        "notes": (item.note, "muted"),
    }
    name = (f"{letter or ' '} {item.name}", "bright" if letter or item.engine else "plain")
    return TableRow(name, cells)


def _measured(item: Item) -> Span:
    """How many cases were measured; of a session that is over and has none, it catches the eye."""
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
        "cut off": symbols.interrupted,
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
    "samples/s": lambda item: -(item.best or 0.0),
}
"""What is smaller comes first; what is equal, the newest first."""

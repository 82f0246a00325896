"""Rows of the models on Home, and which of them are shown. Independent of Textual."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from benchtui.sessions.estimates.fit import largest_batch, needed_mb
from benchtui.sessions.stored_models.stored_model import StoredModel
from benchtui.sessions.sweep import Config
from benchtui.sessions.text.formatting import count
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import best_rate, clean, gibibytes, has_words, memory
from benchtui.tui.drawing.styled_text import Line, Span, line
from benchtui.tui.home.models import Known, ModelEntry, age_text
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import config_name
from benchtui.tui.table.columns import Column
from benchtui.tui.table.layout import Arrangement, TableRow
from benchtui.tui.table.selection import Selection
from benchtui.tui.widgets.long_list import SCROLL_BAR

COLUMNS = (
    Column("size", "size", 8, 0),
    Column("task", "task", 10, 3, words=True),
    Column("fits", "fits", 13, 2, words=True),
    Column("best", "best here", 15, 1),
    Column("age", "", 8, 4),
    Column("notes", "with", 10, 5, words=True),
)
"""Columns next to a model's name."""
NARROWEST, WIDEST = 18, 64
"""Minimum and maximum width of a name in cells."""
OTHERS = 44
"""Cells reserved next to the name for size, best result and what fits."""


class Room(msgspec.Struct, frozen=True):
    """Memory and device that decide what fits."""

    device: str
    precision: str
    """Precision of a search with the smallest weights."""
    sizes: tuple[int, ...]
    """Batch sizes of a search."""
    free_mb: float | None


class ModelSelection(Selection[ModelEntry]):
    """All models, those whose name contains the words of a filter, and the selected one."""

    def __init__(self) -> None:
        super().__init__(
            lambda entry: entry.model,
            lambda entries, words: [entry for entry in entries if has_words(entry.name, words)],
        )

    def replace(self, entries: Iterable[ModelEntry]) -> None:
        """Replace what is known about some models."""
        by_model = {entry.model: entry for entry in entries}
        for listed in (self.all, self.rows):
            listed[:] = [by_model.get(entry.model, entry) for entry in listed]

    def select_model(self, entry: ModelEntry) -> None:
        """Select a model, on top of the list if it isn't listed yet. The filter is dropped."""
        if all(other.model != entry.model for other in self.all):
            self.all.insert(0, entry)
        self.select(entry.model)
        self.filter("")


def list_title(selection: ModelSelection, running: str, loaded: bool) -> tuple[list[Span], list[Span]]:
    """Return the title of the list: the filter, which sweeps are running, and the number of models."""
    left: list[Span] = [("models here", "strong")]
    if selection.words:
        left.append((f' matching "{clean(selection.words)}"', "accent"))
    amount = count(len(selection.rows), "model") if loaded else ""
    return left, [(running, "muted"), ("  " if running else "", "plain"), (amount, "muted")]


def placeholder(selection: ModelSelection, loaded: bool) -> Line:
    """Return the line shown in place of an empty list."""
    if not loaded:
        return line(("looking for models", "muted"))
    if selection.words:
        return line(("no model here has this name; enter takes it as a path or a hub id", "muted"))
    return line((f"no model here yet: {key('home.find')} takes a path or a hub id, or paste one", "muted"))


def arrangement(width: int, longest: int) -> Arrangement:
    """Return the columns that fit a width, given the length of the longest name."""
    share = max(NARROWEST, min(longest + 2, WIDEST, width - OTHERS))
    return Arrangement.of(width, share, COLUMNS)


def header_line(width: int, longest: int, symbols: Symbols) -> Line:
    """Render the column titles."""
    columns = arrangement(width - SCROLL_BAR, longest)
    cells: dict[str, Span] = {column.key: (column.title, "muted") for column in columns.columns}
    return columns.line(TableRow(("  model", "muted"), cells), width, symbols)


def row(entry: ModelEntry, room: Room | None, now: datetime, symbols: Symbols) -> TableRow:
    """Build the row of a model."""
    known = entry.known
    cells: dict[str, Span] = {
        "size": size_cell(entry, symbols),
        "task": (task_of(entry), "plain"),
        "fits": fits_cell(entry.stored, room),
        "best": best_cell(entry, symbols),
        "age": (age_text(known.created, now) if known else "", "muted"),
        "notes": (clean(config_name(known.best.config)) if known else "", "muted"),
    }
    return TableRow((f"  {entry.name}", "plain" if entry.folder else "muted"), cells)


def size_cell(entry: ModelEntry, symbols: Symbols) -> Span:
    """Format the size of a model's weights, or where they are."""
    if not entry.read:
        return "...", "muted"
    if entry.stored is None:
        return "not here", "muted"
    size = entry.stored.weights_bytes
    return (memory(size / 1e6, symbols), "plain") if size else ("random", "muted")


def task_of(entry: ModelEntry) -> str:
    """Return the task that a model's files state; empty if they don't."""
    return entry.stored.task.task if entry.stored and entry.stored.task else ""


def fits_cell(stored: StoredModel | None, room: Room | None) -> Span:
    """Format which batch sizes fit, as guessed from the files and the free memory."""
    if stored is None or room is None or room.free_mb is None:
        return "", "muted"
    largest = largest_batch(stored, room.device, room.precision, room.sizes, room.free_mb)
    if largest is None:
        return "unknown", "muted"
    if largest == 0:
        needed = needed_mb(stored, Config(device=room.device, precision=room.precision))
        return f"needs {gibibytes(needed or 0):,.0f} GiB?", "warning"
    return ("any batch?", "good") if largest == room.sizes[-1] else (f"to bs {largest}?", "plain")


def best_cell(entry: ModelEntry, symbols: Symbols) -> Span:
    """Format the best known rate, or that there is none."""
    if entry.known is None:
        return ("reading" if entry.sessions else "not measured", "muted")
    flag = f"{symbols.flag} " if entry.known.marked else ""
    return f"{flag}{rate_text(entry.known, symbols)}", "warning" if entry.known.marked else "bright"


def rate_text(known: Known, symbols: Symbols) -> str:
    """Format a best rate with its unit."""
    return best_rate(known.best.rate, known.best.unit, symbols, known.best.decided)

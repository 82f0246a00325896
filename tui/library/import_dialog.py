"""Import dialog: the columns of a table that no tool is known for, a map to read it by, and its cases."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Input

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers.imported import Measurement
from benchtui.sessions.library import import_preview
from benchtui.sessions.library.import_preview import Table
from benchtui.sessions.text.formatting import count, number
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, fit
from benchtui.tui.drawing.styled_text import Line, crop, line
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.input_field import TextInput
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.message_line import Log, log_lines
from benchtui.tui.widgets.panel import Panel, PanelScreen

ABOUT = "COLUMN=QUANTITY, such as latency_ms=step_ms,batch=batch_size; quantities: benchtui import --help"
TYPED_S = 0.2
"""Seconds without a further key after which a map is tried."""
MOST_COLUMNS = 8
"""Maximum number of columns to show before the cases."""


class MappedTable(msgspec.Struct, frozen=True):
    """Snapshot of the dialog: the columns of a table, and the cases that the map makes."""

    table: Table
    map_text: str
    cases: tuple[Measurement, ...] = ()
    first: int = 0
    """First case shown."""


def table_lines(mapped: MappedTable, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render the columns with their quantities and first cells, and the cases below them."""
    quantities = dict(part.rpartition("=")[::2] for part in mapped.map_text.split(","))
    columns = mapped.table.columns
    shown = columns[: min(MOST_COLUMNS, max(height - 6, 2))]
    more = f", {len(columns) - len(shown)} more not shown" if len(columns) > len(shown) else ""
    lines = [line((f"columns, what each is, and its first cells{more}", "muted"))]
    lines += [_column(name, quantities.get(name, ""), cells, width, symbols) for name, cells in shown]
    room = height - len(lines) - 2
    span = f", from {mapped.first + 1}" if mapped.first else ""
    lines += [line(("", "plain")), line((f"{count(len(mapped.cases), 'case')}{span}", "muted"))]
    return [*lines, *(_case(row, width, symbols) for row in mapped.cases[mapped.first : mapped.first + room])]


def _column(name: str, quantity: str, cells: str, width: int, symbols: Symbols) -> Line:
    size = max(min(28, width // 3), 8)
    parts = [(f"  {fit(clean(name), size, symbols)}  ", "strong" if quantity else "plain")]
    parts.append((f"{fit(quantity or 'not read', 18, symbols)}  ", "accent" if quantity else "muted"))
    return crop([*parts, (clean(cells), "muted")], width, symbols)


def _case(row: Measurement, width: int, symbols: Symbols) -> Line:
    figures = ", ".join(_figures(row))
    size = max(width // 2, 8)
    role = "warning" if row.finished.reason else "plain"
    return crop(
        [(f"  {fit(clean(row.config.name), size, symbols)}  ", "plain"), (clean(figures), role)], width, symbols
    )


def _figures(row: Measurement) -> Iterator[str]:
    if row.finished.reason:
        yield f"{row.finished.outcome}: {row.finished.reason}"
    if row.mean_ms is not None:
        yield f"{number(row.mean_ms)} ms"
    reported = row.finished.reported
    if reported and reported.samples_per_s:
        yield f"{number(reported.samples_per_s)} samples/s"
    tokens_per_s = reported and (reported.new_tokens_per_s or reported.tokens_per_s)
    if tokens_per_s:
        yield f"{number(tokens_per_s)} tokens/s"


class ImportDialog(PanelScreen[str | None]):
    """Dialog that returns a map that makes cases of a table; None if canceled."""

    DEFAULT_CSS = """
    ImportDialog #title { height: 1; margin: 1 2 0 2; }
    ImportDialog TextInput { margin: 1 2 1 2; }
    ImportDialog #table { height: 1fr; margin: 0 2; }
    ImportDialog #hint { height: 2; margin: 0 2; }
    ImportDialog #keys { height: 1; }
    """
    BINDINGS = keymap.table("import", *keymap.choosing())

    def __init__(self, path: Path, table: Table, symbols: Symbols) -> None:
        super().__init__()
        self._path = path
        self._symbols = symbols
        self._mapped = MappedTable(table, table.map_text)
        self._problem = table.problem or ("" if table.map_text else "no column is recognized")

    def compose(self) -> ComposeResult:
        """Lay out the file's name, the map, the columns with the cases, the hint line, and the key bar."""
        yield Panel(log_lines, self._symbols, id="title")
        yield TextInput(self._mapped.map_text, ABOUT)
        yield Panel(table_lines, self._symbols, id="table")
        yield Panel(log_lines, self._symbols, id="hint")
        yield KeyBar(self._symbols)

    def on_mount(self) -> None:
        """Show the proposed map, and try it."""
        title = clean(f"Import {self._path.name}, by a map of its columns")
        self._panel("title").show(Log(word=title, role="strong"))
        self._panel("keys").show((("enter", "import"), (self._symbols.arrows, "scroll"), ("esc", "back")))
        self.query_one(TextInput).focus()
        self._show()
        if self._mapped.map_text:
            self._try(self._mapped.map_text)

    def action_move(self, rows: int) -> None:
        """Show later or earlier cases."""
        first = min(max(self._mapped.first + rows, 0), max(len(self._mapped.cases) - 1, 0))
        self._mapped = msgspec.structs.replace(self._mapped, first=first)
        self._show()

    def action_back(self) -> None:
        """Close without an import."""
        self.dismiss(None)

    @on(Input.Changed)
    def _change(self, event: Input.Changed) -> None:
        if event.value != self._mapped.map_text:
            self._try(event.value)

    @on(Input.Submitted)
    def _import(self, event: Input.Submitted) -> None:
        """Return the map if it makes cases."""
        if self._mapped.cases and not self._problem and event.value == self._mapped.map_text:
            self.dismiss(event.value)
        else:
            self._try(event.value)

    @work(exclusive=True)
    async def _try(self, map_text: str) -> None:
        await asyncio.sleep(TYPED_S)
        cases, self._problem = self._mapped.cases, ""
        try:
            cases = (
                await asyncio.to_thread(import_preview.imported, self._mapped.table, map_text)
            ).measurements
        except BenchtuiError as error:
            self._problem = str(error).removeprefix("--map: ").replace(f"{self._path}: ", "")
        self._mapped = MappedTable(self._mapped.table, map_text, cases)
        self._show()

    def _show(self) -> None:
        self._panel("table").show(self._mapped)
        role = "warning" if self._problem else "muted"
        self._panel("hint").show(Log(word=clean(self._problem or ABOUT), role=role))

"""Column dialog: which columns the case table shows, and in what order."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from benchtui.sessions.text.formatting import in_sentence
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, crop, line
from benchtui.tui.shell import keymap
from benchtui.tui.table.columns import CATALOGUED, COLUMNS, DEFAULT_COLUMNS, KEYS
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.panel import Panel, PanelScreen

TITLES = {column.key: column.title for column in COLUMNS}
TITLE_CELLS = max(map(len, TITLES.values())) + 2
ABOUT = {
    "node": "the node of a cluster on which the case ran",
    "state": "progress or outcome",
    "p50": "typical step: the median, of several rounds the geometric mean of their medians",
    "p99": "time exceeded by one step in a hundred; unknown below 100 steps",
    "samples": "samples, or tokens of a language model, over the time of all measured steps",
    "memory": "peak on the device; on the processor, of the worker",
    "power": "mean power while measured",
    "base": "rate relative to the baseline, at typical steps; same verdict as in report and compare",
    "answer": "output for the same probe, compared with the baseline's: verdict and KL divergence",
    "trace": "measured steps over time, from 0 to twice the median",
    "notes": "reason for the outcome, and caveats",
    "steps": "measured steps",
    "interval": "half of the typical step's 95 % interval, in percent of it",
    "outliers": "steps far from the rest",
    "tokens": "real tokens over the time of all measured steps",
    "energy": "joules for a thousand samples",
    "accepted": "drafted tokens that the model accepted",
    **{key: in_sentence(row.help).rstrip(".") for key, row in CATALOGUED.items()},
}


class ColumnsPage(PanelScreen[tuple[str, ...]]):
    """List of columns; dismissed with the keys of the enabled ones."""

    DEFAULT_CSS = """
    ColumnsPage #page { height: 1fr; margin: 1 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = keymap.table(
        "columns",
        ("space", "switch", "Show or hide the column"),
        ("down,j", "down", "Next column", "", "move(1)"),
        ("up,k", "up", "Previous column", "", "move(-1)"),
        ("J", "right", "Move right", "", "shift(1)"),
        ("K", "left", "Move left", "", "shift(-1)"),
        ("delete,backspace", "usual", "Restore the defaults"),
        ("enter,C", "done", "Done", "", "leave"),
        ("escape,q", "back", "Back", "keeps the selection", "leave"),
    )

    def __init__(self, keys: tuple[str, ...], symbols: Symbols) -> None:
        super().__init__()
        self._symbols = symbols
        self._on = list(keys)
        self._all = [*keys, *(key for key in KEYS if key not in keys)]
        self._at = 0

    def compose(self) -> ComposeResult:
        """Lay out the list and the key bar."""
        yield Panel(_page_lines, self._symbols, id="page")
        yield KeyBar(self._symbols)

    def on_mount(self) -> None:
        """Show the list and its keys."""
        keys = (("space", "show or hide"), ("K J", "move it"), ("del", "defaults"), ("enter", "done"))
        self._panel("keys").show(((self._symbols.arrows, "choose"), *keys))
        self._show()

    def action_move(self, rows: int) -> None:
        """Move the selection by rows."""
        self._at = min(max(self._at + rows, 0), len(self._all) - 1)
        self._show()

    def action_switch(self) -> None:
        """Toggle the selected column; the last visible one stays."""
        key = self._all[self._at]
        if key not in self._on:
            self._on.append(key)
        elif len(self._on) > 1:
            self._on.remove(key)
        self._show()

    def action_shift(self, places: int) -> None:
        """Move the selected column by places."""
        to = min(max(self._at + places, 0), len(self._all) - 1)
        self._all.insert(to, self._all.pop(self._at))
        self._at = to
        self._show()

    def action_usual(self) -> None:
        """Restore the default columns and their order."""
        self._on, self._all, self._at = list(DEFAULT_COLUMNS), list(KEYS), 0
        self._show()

    def action_leave(self) -> None:
        """Close the dialog with the enabled columns."""
        self.dismiss(tuple(key for key in self._all if key in self._on))

    def _show(self) -> None:
        rows = [self._row(place, key) for place, key in enumerate(self._all)]
        title = line(("Columns", "strong"), ("   the first ones that fit are shown", "muted"))
        self._panel("page").show((title, BLANK, *rows))

    def _row(self, place: int, key: str) -> Line:
        on, chosen = key in self._on, place == self._at
        title = TITLES[key].replace("+-", self._symbols.plus_minus)
        return line(
            (f"{self._symbols.chosen if chosen else ' '} ", "accent"),
            (f"{self._symbols.ok if on else ' '} ", "good"),
            (f"{title:<{TITLE_CELLS}}", "strong" if chosen else "plain" if on else "muted"),
            (ABOUT[key], "muted"),
        )


def _page_lines(lines: Sequence[Line], width: int, height: int, symbols: Symbols) -> list[Line]:
    return [crop(drawn, width, symbols) for drawn in lines]

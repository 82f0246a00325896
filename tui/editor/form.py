"""The editor's lines: which there are for a sweep, and where the cursor stands. Knows no Textual."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchtui.sessions.sweep.toml_writer import Texts
from benchtui.tui.drawing.format import clean
from benchtui.tui.editor.draft import State, default_texts
from benchtui.tui.editor.entries import Entry, all_entries, chosen, shown, unused, values_of

ENTRIES = all_entries()


@dataclass(frozen=True, slots=True)
class Row:
    """One line: an entry with what it says."""

    entry: Entry
    text: str
    changed: bool
    """Whether it differs from the default."""
    values: tuple[tuple[str, bool], ...] = ()
    """The values to choose from, each with whether it is on."""
    unused: str = ""
    """Why the task doesn't look at it."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """All lines, and the cursor in them."""

    rows: tuple[Row, ...]
    chosen: int = 0
    value: int = 0
    """The value of the chosen line on which the cursor stands."""
    focused: bool = True
    """Whether the keys move this cursor."""

    @property
    def row(self) -> Row:
        """The line on which the cursor stands."""
        return self.rows[self.chosen]

    @property
    def value_at_cursor(self) -> str | None:
        """The value on which the cursor stands: of an entry that holds one, that one; None without any."""
        values = self.row.values
        if not self.row.entry.several:
            return next((value for value, on in values if on), None)
        return values[min(self.value, len(values) - 1)][0]

    def value_after(self, by: int) -> str:
        """The value so many after the one that is on, around the end."""
        values = [value for value, _ in self.row.values]
        at = next((place for place, (_, on) in enumerate(self.row.values) if on), -1 if by > 0 else 0)
        return values[(at + by) % len(values)]


class Cursor:
    """Where the reader is among the entries; it stays on its entry when lines come and go."""

    def __init__(self) -> None:
        self.entry: Entry = next(entry for entry in ENTRIES if entry.key == "axes.device")
        self.value = 0
        self._defaults: Mapping[str, str] = default_texts()

    def sheet(self, state: State, focused: bool) -> Sheet:
        """The lines of a state."""
        rows = tuple(self._rows(state))
        at = next((place for place, row in enumerate(rows) if row.entry == self.entry), 0)
        return Sheet(rows, at, self.value, focused)

    def move(self, sheet: Sheet, lines: int) -> None:
        """Go to another line; the cursor in it stands on the value that is on."""
        row = sheet.rows[min(max(sheet.chosen + lines, 0), len(sheet.rows) - 1)]
        self.entry = row.entry
        self.value = next((place for place, (_, on) in enumerate(row.values) if on), 0)

    def turn(self, sheet: Sheet, by: int) -> None:
        """Go to another value of the line."""
        self.value = (self.value + by) % max(len(sheet.row.values), 1)

    def _rows(self, state: State) -> list[Row]:
        lines = ((entry, unused(entry, state.sweep)) for entry in ENTRIES)
        return [
            self._row(entry, why, state.texts)
            for entry, why in lines
            if why is None or entry.key in state.texts
        ]

    def _row(self, entry: Entry, why: str | None, texts: Texts) -> Row:
        text = shown(entry, texts, self._defaults)
        now = chosen(entry, text)
        values = tuple((value, value in now) for value in values_of(entry, text))
        changed = entry.key in texts and texts[entry.key] != self._defaults.get(entry.key)
        return Row(entry, clean(text), changed, values, why or "")

"""Form lines: one row per entry, the selected one with all its values. Independent of Textual."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, justify, line, width_of
from benchtui.tui.editor.form import Form, FormRow

LABEL = 17
INDENT = 2
"""Cells before the label, for the selection mark."""
VALUE = INDENT + LABEL + 1
"""Cells before the value."""
LONG_LABEL = 26
"""Label width of entries that only some tasks have."""


def entry_lines(form: Form, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render as many rows as fit, including the selected one."""
    lines, top = _titles(form), _top(form, height)
    drawn = [
        _title(found, width, symbols) if isinstance(found, str) else _entry(form, found, width, symbols)
        for found in lines[top : top + height]
    ]
    for place, left in ((0, _entries_in(lines[:top])), (-1, _entries_in(lines[top + height :]))):
        if left and drawn:
            drawn[place] = justify(drawn[place], [(f"{left} more", "muted")], width, symbols)
    return drawn


def _entries_in(lines: Sequence[str | int]) -> int:
    return sum(isinstance(found, int) for found in lines)


def value_place(form: Form, height: int) -> tuple[int, int]:
    """Return column and line of the selected entry's value."""
    return value_column(form.row), _titles(form).index(form.chosen) - _top(form, height)


def value_column(row: FormRow) -> int:
    """Return the number of cells before an entry's value."""
    return VALUE if len(row.entry.label) <= LABEL else INDENT + LONG_LABEL + 1


def _titles(form: Form) -> list[str | int]:
    """Return the row indices, with a title before each group and a blank line between groups."""
    found: list[str | int] = []
    group = ""
    for place, row in enumerate(form.rows):
        if row.entry.group != group:
            group = row.entry.group
            found += ["", group] if found else [group]
        found.append(place)
    return found


def _top(form: Form, height: int) -> int:
    lines = _titles(form)
    return max(0, min(lines.index(form.chosen) - height // 2, len(lines) - height))


def _title(group: str, width: int, symbols: Symbols) -> Line:
    return crop([(group, "muted")], width, symbols) if group else BLANK


def _entry(form: Form, place: int, width: int, symbols: Symbols) -> Line:
    row, here = form.rows[place], place == form.chosen
    mark = (symbols.chosen if here else " ", "accent" if form.focused else "faint")
    role = "strong" if here and form.focused else "plain" if row.changed else "muted"
    label = row.entry.label.ljust(value_column(row) - INDENT - 1)
    head = [mark, (" ", "plain"), (f"{label} ", role)]
    room = width - width_of(head)
    if here and form.focused and row.values and not row.unused:
        return line(*head, *_choices(form, room, symbols))
    return crop([*head, _value(row)], width, symbols)


def _value(row: FormRow) -> Span:
    if row.unused:
        return f"{row.text}  ({row.unused})", "muted"
    return (row.text, "bright" if row.changed else "muted") if row.text else (row.entry.unset, "muted")


def _choices(form: Form, room: int, symbols: Symbols) -> Line:
    """Render all values, with the enabled ones marked. Scroll until the cursor is visible."""
    tokens = [
        (f"{symbols.ok if on else ' '}{value} ", _role(on, value == form.value_at_cursor))
        for value, on in form.row.values
    ]
    cursor = next((at for at, (value, _) in enumerate(form.row.values) if value == form.value_at_cursor), 0)
    first = 0
    while first < cursor and width_of(tokens[first : cursor + 1]) + 3 > room:
        first += 1
    lead: list[Span] = [(symbols.ellipsis, "muted")] if first else []
    return crop([*lead, *tokens[first:]], room, symbols)


def _role(on: bool, here: bool) -> str:
    return "chosen" if here else "bright" if on else "muted"

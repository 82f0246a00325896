"""Form lines: one row per entry, the selected one with all its values. Independent of Textual."""

from collections.abc import Sequence

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, hanging, justify, line, width_of
from benchtui.tui.editor.form import FOLDED, Form, FormRow

LABEL = 17
INDENT = 2
"""Cells before the label, for the selection mark."""
VALUE = INDENT + LABEL + 1
"""Cells before the value."""
MAX_HELP = 3
"""Maximum number of lines of help below the selected row."""
ABOUT_LABEL = 9
LONG_LABEL = 26
"""Label width of entries that only some tasks have."""


def entry_lines(form: Form, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render as many rows as fit, including the selected one with its values and its help or error."""
    blocks = _blocks(form, width, height, symbols)
    top = _top(blocks, form, height)
    lines = [(place, drawn) for place, block in blocks for drawn in block]
    drawn = [line for _, line in lines[top : top + height]]
    for end, hidden in ((0, lines[:top]), (-1, lines[top + height :])):
        hidden_entries = len({place for place, _ in hidden if place is not None} - {form.chosen})
        if hidden_entries and drawn:
            drawn[end] = justify(drawn[end], [(f"{hidden_entries} more", "muted")], width, symbols)
    return drawn


def about_lines(form: Form, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Describe the selected entry: what it means, its default and its values."""
    row = form.row
    facts = {
        "default": row.default or row.entry.unset,
        "values": ", ".join(row.entry.values),
        "now": row.shown if row.changed else "",
    }
    lines = [*hanging(("", "plain"), row.entry.about, width), BLANK]
    for name, text in facts.items() if not row.entry.folds else ():
        lines += hanging((f"{name:<{ABOUT_LABEL}}", "muted"), text, width, "muted") if text else []
    return lines


def value_place(form: Form, width: int, height: int, symbols: Symbols) -> tuple[int, int]:
    """Return column and line of the selected entry's value."""
    blocks = _blocks(form, width, height, symbols)
    return value_column(form.row), _line_of(blocks, form.chosen) - _top(blocks, form, height)


def row_at(form: Form, line: int, width: int, height: int, symbols: Symbols) -> int | None:
    """Return the index of the row at a line of the view; None at a title or a blank line."""
    blocks = _blocks(form, width, height, symbols)
    places = [place for place, block in blocks for _ in block][_top(blocks, form, height) :]
    return places[line] if line < len(places) else None


def value_column(row: FormRow) -> int:
    """Return the number of cells before an entry's value."""
    return VALUE if len(row.entry.label) <= LABEL else INDENT + LONG_LABEL + 1


_Block = tuple[int | None, Sequence[Line]]
"""Lines of a row with its index; None for the title of a group and for the blank lines between groups."""


def _blocks(form: Form, width: int, height: int, symbols: Symbols) -> list[_Block]:
    """Render all rows, with a title before each group but the first.

    There are blank lines between groups if there is room for all of them.
    """
    rows = [_row_lines(form, place, width, symbols) for place in range(len(form.rows))]
    heads = [[], *(_head(form, place, width, symbols) for place in range(1, len(form.rows)))]
    if sum(map(len, [*rows, *heads])) > height:
        heads = [[head_line for head_line in head if head_line != BLANK] for head in heads]
    return [block for place, lines in enumerate(rows) for block in ((None, heads[place]), (place, lines))]


def _head(form: Form, place: int, width: int, symbols: Symbols) -> list[Line]:
    """Render a blank line and the title before the first row of a group. A folded group is its own title."""
    row, before = form.rows[place], form.rows[place - 1]
    if before.entry.group == row.entry.group:
        return []
    close = bool(row.entry.folds) and before.entry.group in FOLDED and not before.open
    title = [] if row.entry.folds else [crop([(row.entry.group, "muted")], width, symbols)]
    return [*([] if close else [BLANK]), *title]


def _line_of(blocks: Sequence[_Block], chosen: int) -> int:
    """Return the first line of a row."""
    at = next(number for number, (place, _) in enumerate(blocks) if place == chosen)
    return sum(len(lines) for _, lines in blocks[:at])


def _top(blocks: Sequence[_Block], form: Form, height: int) -> int:
    """Return the first visible line, so that all lines of the selected row are visible."""
    total = sum(len(lines) for _, lines in blocks)
    return max(0, min(_line_of(blocks, form.chosen) - height // 2, total - height))


def _row_lines(form: Form, place: int, width: int, symbols: Symbols) -> list[Line]:
    """Render a row; the selected one is followed by its remaining values, and its error or help."""
    row, here = form.rows[place], place == form.chosen and form.focused
    mark = (symbols.chosen if place == form.chosen else " ", "accent" if form.focused else "faint")
    error = form.error if here else ""
    label_role = "bad" if error else "strong" if here else "plain" if row.changed else "muted"
    if row.entry.folds:
        head = [mark, (" ", "plain"), *_fold(row, label_role, symbols)]
        return [crop(head, width, symbols), *_help_lines(form, row, error, here, width)]
    label = row.entry.label.ljust(value_column(row) - INDENT - 1)
    head = [mark, (" ", "plain"), (f"{label} ", label_role)]
    if here and row.values and not row.unused:
        indent = (" " * width_of(head), "plain")
        choices = _choices(form, width - width_of(head), symbols)
        lines = [line(*(head if number == 0 else [indent]), *spans) for number, spans in enumerate(choices)]
    else:
        lines = [crop([*head, _value(row, error)], width, symbols), *_remark_lines(row, width, symbols)]
    return [*lines, *_help_lines(form, row, error, here, width)]


def _fold(row: FormRow, role: str, symbols: Symbols) -> list[Span]:
    """Render the title of a foldable group; while folded, with the entries that differ from the defaults."""
    sign = symbols.down if row.open else symbols.chosen
    return [(f"{row.entry.folds} {sign} ", role), ("" if row.open else row.text, "muted")]


def _help_lines(form: Form, row: FormRow, error: str, here: bool, width: int) -> list[Line]:
    """Render the help of the selected entry; if its text isn't allowed, the reason in red."""
    if not here or (form.explained and not error):
        return []
    indent = (" " * (INDENT + 2), "plain")
    return hanging(indent, error or row.entry.about, width, "bad" if error else "muted")[:MAX_HELP]


def _remark_lines(row: FormRow, width: int, symbols: Symbols) -> list[Line]:
    sign, role = (symbols.failed, "bad") if row.wrong else (symbols.flag, "warning")
    indent = (" " * (INDENT + 2), "plain")
    return [crop([indent, (f"{sign} {row.remark}", role)], width, symbols)] if row.remark else []


def _value(row: FormRow, error: str) -> Span:
    if error:
        return row.shown, "bad"
    if row.unused:
        return f"{row.shown}  ({row.unused})", "muted"
    return (row.shown, "bright" if row.changed else "muted") if row.text else (row.entry.unset, "muted")


def _choices(form: Form, room: int, symbols: Symbols) -> list[Line]:
    """Render all values, with the enabled ones marked, on as many lines as they need."""
    lines: list[list[Span]] = [[]]
    for value, on in form.row.values:
        token = (f"{symbols.ok if on else ' '}{value} ", _role(on, value == form.value_at_cursor))
        if lines[-1] and width_of([*lines[-1], token]) > room:
            lines.append([])
        lines[-1].append(token)
    return [crop(choice, room, symbols) for choice in lines]


def _role(on: bool, here: bool) -> str:
    return "chosen" if here else "bright" if on else "muted"

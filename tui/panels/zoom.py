"""Zoomed panel: one panel over the whole screen. Independent of Textual."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import msgspec

from benchtui.sessions.events import Message
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, hanging, justify, line
from benchtui.tui.panels.case_panel import Current, current_lines, current_title, part_table
from benchtui.tui.panels.gauges import gauge_lines, machine_title
from benchtui.tui.panels.step_band import band_lines
from benchtui.tui.shell.keymap import key
from benchtui.tui.widgets.message_line import ROLES

Name = Literal["band", "gauges", "parts", "table", "log"]
NAMES: tuple[Name, ...] = get_args(Name)
"""Panels that can be zoomed, in cycling order."""
TITLES: dict[Name, str] = {
    "band": "Step times",
    "gauges": "Machine",
    "parts": "Step breakdown",
    "table": "Cases",
    "log": "Log",
}
HINTS: dict[Name, str] = {
    "band": "no steps yet; {detail}: case details",
    "gauges": "no readings yet",
    "parts": "no measured steps with parts",
    "log": "no engine messages yet",
}

HIDDEN_NODES_HINT = "; select a case to see its node in full"
"""Where to see the machines that don't fit on a whole screen."""


class Zoomed(msgspec.Struct, frozen=True):
    """A panel, and the case it is about."""

    name: Name
    snapshot: Any
    """Snapshot that the panel itself renders."""
    current: Current | None = None
    """Case that the panel is about; None if it covers the whole session."""
    back: int = 0
    """Number of lines of a long text below the view."""


def hint(name: Name) -> str:
    """Return the placeholder of an empty panel."""
    return HINTS[name].format(detail=key("monitor.detail"))


def zoom_title(zoomed: Zoomed) -> tuple[list[Span], list[Span]]:
    """Return the title of a zoomed panel, and its position among the panels."""
    position = (f"{NAMES.index(zoomed.name) + 1} of {len(NAMES)}", "muted")
    old = machine_title(zoomed.snapshot)[1] if zoomed.name == "gauges" else []
    return [(TITLES[zoomed.name], "strong")], [*old, *([("  ", "plain")] if old else []), position]


def zoom_lines(zoomed: Zoomed, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the case, and the panel in the remaining height."""
    head: list[Line] = []
    if case := zoomed.current:
        title = justify(*current_title(case), width, symbols)
        head = [title, *current_lines(case, width, 2, symbols), BLANK]
    body = list(_BODIES[zoomed.name](zoomed, width, height - len(head), symbols))
    return [*head, *(body or [line((hint(zoomed.name), "muted"))])]


def log_text(messages: Sequence[Message], width: int) -> list[Line]:
    """Render all messages with time and level, wrapping long ones."""
    lines: list[Line] = []
    for message in messages:
        role = ROLES[message.level]
        head = f"{message.t:>9.1f} s  {message.level:<8} ", "muted" if message.level == "info" else role
        lines += hanging(head, clean(message.text), width, role)
    return lines


def _log(zoomed: Zoomed, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    lines = log_text(zoomed.snapshot, width)
    end = max(len(lines) - zoomed.back, min(height, len(lines)))
    return lines[max(0, end - height) : end]


_BODIES: dict[Name, Callable[[Zoomed, int, int, Symbols], Sequence[Line]]] = {
    "band": lambda zoomed, *room: band_lines(zoomed.snapshot, *room),
    "gauges": lambda zoomed, width, height, symbols: gauge_lines(
        zoomed.snapshot, width, height, symbols, HIDDEN_NODES_HINT
    ),
    "parts": lambda zoomed, width, height, symbols: part_table(zoomed.snapshot, width, symbols),
    "log": _log,
}

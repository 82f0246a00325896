"""Help page of a screen: its current key bindings, and its metrics and signs."""

import textwrap
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from textual.screen import Screen

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import BLANK, Line, line
from benchtui.tui.pages.page import Page
from benchtui.tui.shell.keymap import Bound, active, shown

Rows = tuple[tuple[str, str], ...]
Section = tuple[str, Rows]
"""A title, and rows of a key or sign with its explanation."""
TENTHS = "replay.share_"
TENTHS_ROW = ("0 to 9", "Go to 0 %, 10 % up to 90 % of the recording")


def open_help(screen: Screen[Any], symbols: Symbols, sections: Callable[[Symbols], Sequence[Section]]) -> None:
    """Open the help page of a screen: its key bindings, then ``sections``."""
    explained = (("Keys", key_rows(active(screen))), *sections(symbols))
    screen.app.push_screen(Page(lambda width: help_lines(explained, width), symbols))


def help_lines(sections: Sequence[Section], width: int) -> list[Line]:
    """Render sections below each other. Long lines wrap with a hanging indent."""
    lines: list[Line] = []
    for title, rows in sections:
        lines += [*([BLANK] if lines else []), line((title, "strong")), *_table(rows, width)]
    return lines


def key_rows(keys: Sequence[Bound]) -> Rows:
    """Return one row per key binding. The ten seek keys share a row unless remapped."""
    rows: list[tuple[str, str]] = []
    for tenths, group in groupby(keys, _is_tenth):
        each = [(shown(one.keys), f"{one.does}: {one.about}" if one.about else one.does) for one in group]
        rows += [TENTHS_ROW] if tenths else each
    return tuple(rows)


def no_signs(symbols: Symbols) -> Sequence[Section]:
    """Return no sections: only key bindings are shown."""
    return ()


def _is_tenth(each: Bound) -> bool:
    return each.id.startswith(TENTHS) and each.keys == each.id.removeprefix(TENTHS)[:1]


def _table(rows: Rows, width: int) -> list[Line]:
    size = max((len(name) for name, _ in rows), default=0)
    lines: list[Line] = []
    for name, text in rows:
        first, *others = textwrap.wrap(text, max(width - size - 5, 20)) or [""]
        lines.append(line((f"  {name:<{size}}   ", "accent"), (first, "plain")))
        lines += [line((" " * (size + 5) + other, "plain")) for other in others]
    return lines

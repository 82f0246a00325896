"""Help page of a screen: its current key bindings, and its metrics and signs."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Input

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import has_words
from benchtui.tui.drawing.styled_text import BLANK, Line, labeled, line, side_by_side, wrap_spans
from benchtui.tui.pages.page import Page
from benchtui.tui.shell.keymap import TITLES, Bound, active, shown
from benchtui.tui.widgets.input_field import FilterInput
from benchtui.tui.widgets.keys import Keys

Rows = tuple[tuple[str, str], ...]
Section = tuple[str, Rows]
"""A title, and rows of a key or sign with its explanation."""
MIN_COLUMN = 54
"""Minimum width of a column, in cells."""
GAP = 4
"""Cells between two columns."""
MOVING = "Move"
"""Title of the keys that move the selection."""
MOVES = ("down", "up", "left", "right", "page_down", "page_up", "first", "last")
"""Last parts of the action IDs of those keys."""
TENTHS = "replay.share_"
TENTHS_ROW = ("alt+0 to 9", "Go to 0 %, 10 % up to 90 % of the recording")


def open_help(screen: Screen[Any], symbols: Symbols, sections: Callable[[Symbols], Sequence[Section]]) -> None:
    """Open the help page of a screen: its key bindings by group, then ``sections``."""
    screen.app.push_screen(HelpPage((*key_sections(active(screen)), *sections(symbols)), symbols))


class HelpPage(Page):
    """Help in as many columns as fit, with a search."""

    NAME = "help"

    def __init__(self, sections: Sequence[Section], symbols: Symbols) -> None:
        super().__init__(self._found, symbols)
        self._sections = sections

    def content(self) -> ComposeResult:
        """Lay out the text and the search field."""
        yield from super().content()
        yield FilterInput(placeholder="search keys and words")

    def action_filter(self) -> None:
        """Open the search field."""
        self.query_one(FilterInput).ask()

    def action_leave(self) -> None:
        """Close the search; without one, return to the screen below."""
        if self.query_one(FilterInput).reset():
            self.action_move(-self._top)
        else:
            super().action_leave()

    @on(Input.Changed)
    def search(self, event: Input.Changed) -> None:
        """Show only the rows that contain the typed words."""
        self.action_move(-self._top)

    @on(Input.Submitted)
    def keep(self) -> None:
        """Leave the search field, and keep the results."""
        self.set_focus(None)

    def _keys(self) -> Keys:
        return (("/", "search"),)

    def _found(self, width: int) -> Sequence[Line]:
        text = self.query_one(Input).value
        return help_columns(matching(self._sections, text), width) or [
            line((f"nothing matches {text!r}", "muted"))
        ]


def matching(sections: Sequence[Section], text: str) -> list[Section]:
    """Return the rows that contain all words of a text, with the titles of their sections."""
    matching_rows = (
        (title, tuple(row for row in rows if has_words(" ".join(row), text))) for title, rows in sections
    )
    return [section for section in matching_rows if section[1]]


def help_columns(sections: Sequence[Section], width: int) -> list[Line]:
    """Render sections in as many columns as fit, read from top to bottom and left to right."""
    count = max(1, min((width + GAP) // (MIN_COLUMN + GAP), len(sections)))
    room = (width + GAP) // count - GAP
    blocks = [help_lines([section], room) for section in sections]
    columns: list[list[Line]] = [[]]
    height = -(-sum(len(block) + 1 for block in blocks) // count)
    for block in blocks:
        if columns[-1] and len(columns) < count and len(columns[-1]) + len(block) // 2 > height:
            columns.append([])
        columns[-1] += [*([BLANK] if columns[-1] else []), *block]
    return side_by_side(columns, room + GAP)


def key_sections(keys: Sequence[Bound]) -> list[Section]:
    """Group key bindings: those of the view, those that move, and those of every view."""
    groups: dict[str, list[Bound]] = {}
    for binding in keys:
        place, _, name = binding.id.partition(".")
        groups.setdefault(MOVING if name in MOVES else TITLES.get(place, place.capitalize()), []).append(
            binding
        )
    order = sorted(groups, key=lambda title: (title == TITLES["app"], title == MOVING))
    return [(title, key_rows(groups[title])) for title in order]


def help_lines(sections: Sequence[Section], width: int) -> list[Line]:
    """Render sections below each other. Long lines wrap with a hanging indent."""
    lines: list[Line] = []
    for title, rows in sections:
        head = [*([BLANK] if lines else []), *wrap_spans([(title, "strong")], width)]
        lines += [*head, *labeled(rows, width, "accent")]
    return lines


def key_rows(keys: Sequence[Bound]) -> Rows:
    """Return one row per key binding. The ten seek keys share a row unless remapped."""
    rows: list[tuple[str, str]] = []
    for tenths, group in groupby(keys, _is_tenth):
        described = [(shown(one.keys), f"{one.does}: {one.about}" if one.about else one.does) for one in group]
        rows += [TENTHS_ROW] if tenths else described
    return tuple(rows)


def _is_tenth(binding: Bound) -> bool:
    tenth = binding.id.removeprefix(TENTHS)
    return tenth != binding.id and binding.keys.split(",")[0] == f"alt+{tenth[:1]}"

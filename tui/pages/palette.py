"""Command palette: every command with its key, and sessions, cases, presets and themes by name."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from textual import on
from textual.widgets import Input

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, fit, has_words
from benchtui.tui.drawing.styled_text import Line, crop
from benchtui.tui.pages.choice_screen import ChoiceScreen
from benchtui.tui.shell import keymap

TITLE, KEY = 46, 14
"""Maximum widths of the title and key columns, in cells. Titles get at most half of the width."""
SHORT_KEY = 9
NARROW, WIDE = 50, 98
"""Widths in cells from which commands are described, and from which keys have their whole column."""


class Command(msgspec.Struct, frozen=True):
    """Something that can be run by name."""

    group: str
    title: str
    run: Callable[[], Any]
    key: str = ""
    about: str = ""


def search(commands: Sequence[Command], text: str) -> tuple[Command, ...]:
    """Return the commands that contain all words of a text.

    In each group, those whose title begins with it come first, then those whose title contains it.
    """
    matches = [
        command for command in commands if has_words(f"{command.group} {command.title} {command.about}", text)
    ]
    groups = list(dict.fromkeys(command.group for command in matches))
    phrase = text.strip().lower()

    def rank(command: Command) -> tuple[int, bool, bool]:
        title = command.title.lower()
        return groups.index(command.group), not title.startswith(phrase), phrase not in title

    return tuple(sorted(matches, key=rank))


def _row(command: Command, chosen: bool, width: int, symbols: Symbols) -> Line:
    mark = symbols.chosen if chosen else " "
    key_size = KEY if width >= WIDE else SHORT_KEY
    title_size = min(TITLE, width // 2) if width >= NARROW else width - key_size - 4
    title, key = fit(clean(command.title), title_size, symbols), fit(command.key, key_size, symbols)
    head = [(f"{mark} ", "accent"), (f"{title} ", "strong" if chosen else "plain"), (f"{key} ", "accent")]
    return crop([*head, (clean(command.about) if width >= NARROW else "", "muted")], width, symbols)


class Palette(ChoiceScreen[Command]):
    """Palette that returns the chosen command; None if canceled."""

    BINDINGS = keymap.table("palette", *keymap.choosing())

    ABOUT = "command, session, case or theme"
    DOES = "run"
    EMPTY = "nothing matches"
    items: tuple[Command, ...] = ()

    def __init__(
        self, commands: Sequence[Command], more: Callable[[], Sequence[Command]], symbols: Symbols
    ) -> None:
        """Create the palette. ``more`` reads files, and is called in a thread."""
        super().__init__(_row, symbols)
        self._commands = list(commands)
        self._more = more

    async def on_mount(self) -> None:
        """Show the commands, then read the sessions in a thread."""
        self.open()
        self._search()
        self._commands += await asyncio.to_thread(self._more)
        self._search()

    def accept(self) -> None:
        """Return the selected command."""
        self.dismiss(self.items[self._chosen])

    @on(Input.Changed)
    def narrow(self, event: Input.Changed) -> None:
        """Show only the commands that match."""
        self._chosen = 0
        self._search()

    def _search(self) -> None:
        self.items = search(self._commands, self.query_one(Input).value)
        self.action_move(0)

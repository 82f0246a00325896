"""The chooser: what to run or to open, when nothing was named."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.themes import Symbols
from benchtui.tui.offers import Offer, offers
from benchtui.tui.places import Opened, Place
from benchtui.tui.screens.help import chooser_help
from benchtui.tui.screens.page import Page
from benchtui.tui.surroundings import Surroundings
from benchtui.tui.text import clean
from benchtui.tui.widgets import inks
from benchtui.tui.widgets.choices import Choices, choice_lines
from benchtui.tui.widgets.keys import Keys, key_lines
from benchtui.tui.widgets.log import Log, log_lines
from benchtui.tui.widgets.panel import Panel
from benchtui.tui.widgets.places import place_lines


class Chooser(Screen[None]):
    """A list of sweeps and sessions; opens what is chosen."""

    COMPONENT_CLASSES = inks.CLASSES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("home,g", "move(-1000)", "First", show=False),
        Binding("end,G", "move(1000)", "Last", show=False),
        Binding("enter", "open", "Start or open", show=False),
        Binding("r", "look", "Look again", show=False),
        Binding("question_mark,f1", "help", "Help", show=False),
        Binding("q,escape,ctrl+q,ctrl+c", "app.leave", "Quit", show=False),
    ]

    def __init__(self, surroundings: Surroundings, symbols: Symbols) -> None:
        super().__init__()
        self._surroundings = surroundings
        self._symbols = symbols
        self._offers: tuple[Offer, ...] = ()
        self._chosen = 0
        self._busy = False

    def compose(self) -> ComposeResult:
        """The list, a line for words, the keys."""
        yield Panel[Place](place_lines, self._symbols, id="places")
        yield Panel[Choices](choice_lines, self._symbols, id="chooser")
        yield Panel[Log](log_lines, self._symbols, id="log")
        yield Panel[Keys](key_lines, self._symbols, id="keys")

    async def on_mount(self) -> None:
        """Look what there is."""
        self._panel("places").show("sweep")
        moves = (self._symbols.arrows, "choose")
        self._panel("keys").show(
            (("enter", "start or open"), moves, ("r", "look again"), ("?", "help"), ("q", "quit"))
        )
        await self.action_look()

    async def action_look(self) -> None:
        """Look again for sweeps, engines and sessions."""
        self._offers = tuple(await asyncio.to_thread(offers, self._surroundings))
        self.action_move(0)

    def action_move(self, rows: int) -> None:
        """Choose another line."""
        self._chosen = min(max(self._chosen + rows, 0), max(len(self._offers) - 1, 0))
        self._panel("chooser").show(Choices(self._offers, self._chosen))
        self._say(self._offers[self._chosen].problem if self._offers else "")

    async def action_open(self) -> None:
        """Start the chosen sweep, or open the chosen session."""
        if self._busy or not self._offers:
            return
        offer = self._offers[self._chosen]
        self._busy = True
        if offer.sweep is not None:
            self._say(f"starting {offer.name}")
            await self._open(partial(self._surroundings.start, offer.sweep), None)
        elif offer.path is not None:
            await self._open(partial(self._surroundings.find, offer.path), offer.path)
        self._busy = False

    def action_help(self) -> None:
        """What the keys of this place do."""
        self.app.push_screen(Page(lambda width: chooser_help(), self._symbols))

    async def _open(self, engine_of: Callable[[], Engine | None], path: Path | None) -> None:
        try:
            engine = await asyncio.to_thread(engine_of)
        except BenchtuiError as error:
            self._say(clean(str(error)))
            return
        if path := path or (engine.path if engine else None):
            self.post_message(Opened(path, engine))

    def _say(self, word: str) -> None:
        self._panel("log").show(Log(word=word, role="warning"))

    def _panel(self, name: str) -> Panel[Any]:
        return self.query_one(f"#{name}", Panel)

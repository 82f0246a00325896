"""Commands of the palette: key-bound actions of a screen, and cases, sessions, presets and themes by name."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App
from textual.screen import Screen

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep.toml_reader import preset_names
from benchtui.themes.symbols import Symbols
from benchtui.tui.live.feed import Feed
from benchtui.tui.pages.palette import Command, Palette
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.keymap import active, shown
from benchtui.tui.shell.navigation import EditRequested, Opened
from benchtui.tui.table.case_names import case_name


class PaletteCommands(msgspec.Struct, frozen=True):
    """Everything that the palette can run."""

    app: App[Any]
    feed: Feed | None
    """Open session; None if there is none."""
    context: AppContext
    symbols: Symbols
    themes: Sequence[str]
    choose_theme: Callable[[str], object]

    def open(self, screen: Screen[Any]) -> None:
        """Open the palette over a screen, unless it is the palette itself."""
        if not isinstance(screen, Palette):
            palette = Palette(list(self.of(screen)), self._sessions, self.symbols)
            self.app.push_screen(palette, lambda command: command.run() if command else None)

    def of(self, screen: Screen[Any]) -> Iterable[Command]:
        """Yield the commands that need no file."""
        yield from self._actions(screen)
        yield from self._cases()
        for name in preset_names():
            run = partial(self.app.post_message, EditRequested(name))
            yield Command("Presets", name, run, about="edit this sweep")
        for name in self.themes:
            about = "current" if name == self.app.theme else ""
            yield Command("Themes", f"Theme {name}", partial(self.choose_theme, name), about=about)

    def _actions(self, screen: Screen[Any]) -> Iterable[Command]:
        """Yield the key-bound actions of a screen, except cursor moves and the palette itself."""
        listed = {binding.id: binding for binding in active(screen)}
        bound = {binding.binding.action: binding for binding in screen.active_bindings.values()}
        for action, binding in bound.items():
            named = listed.get(binding.binding.id or "")
            if named and binding.enabled and "move" not in action and action != "command_palette":
                run = partial(self.app.call_later, self.app.run_action, action, binding.node)
                yield Command("Commands", binding.binding.description, run, shown(named.keys), named.about)

    def _cases(self) -> Iterable[Command]:
        session = self.feed.session if self.feed else None
        for case in session.cases if session and session.started else ():
            yield Command("Cases", case_name(case), partial(self._open_case, case.index), about=case.state)

    def _open_case(self, index: int) -> None:
        from benchtui.tui.case.screen import CaseScreen  # needed only for a chosen case

        if self.feed is not None:
            self.app.push_screen(CaseScreen(self.feed, index, self.symbols))

    def _sessions(self) -> list[Command]:
        """Return a command per session of the library. Reads files."""
        try:
            entries = self.context.recorded()
        except BenchtuiError:
            return []
        return [
            Command(
                "Sessions",
                entry.path.stem,
                partial(self.app.call_later, self._open_session, entry.path),
                about=f"{entry.started.sweep.model}, {entry.started.created}",
            )
            for entry in entries
        ]

    async def _open_session(self, path: Path) -> None:
        """Open a session in the Monitor, with its engine if one is writing it."""
        self.app.post_message(Opened(path, await asyncio.to_thread(self.context.find, path)))

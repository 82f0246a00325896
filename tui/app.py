"""The app: one terminal, a chooser or a Monitor in it, and how it is left."""

import asyncio
import os
import signal
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from rich.console import RenderableType
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from benchtui import themes
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.ending import Ending
from benchtui.tui.feed import Clock, Feed
from benchtui.tui.opened import Opened
from benchtui.tui.painting import cropped
from benchtui.tui.screens.monitor import Monitor
from benchtui.tui.surroundings import Surroundings
from benchtui.tui.terminal import Link, Terminal
from benchtui.tui.theming import textual_theme, variables

LOOK_S = 0.5
"""How often to look whether the terminal is still there."""

WIDTHS = [(0, "-tiny"), (60, "-narrow"), (100, "-medium"), (160, "-wide")]
HEIGHTS = [(0, "-flat"), (20, "-short"), (34, "-usual"), (46, "-high")]
"""From which width and height in cells a screen has which class."""


class BenchtuiApp(App[Ending]):
    """Shows a session as it is made or as it was recorded; without one, asks for one."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    ALLOW_SELECT = False
    AUTO_FOCUS = None
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "next_theme", "Next theme", show=False),
        Binding("colon", "command_palette", "Commands", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False),
    ]

    def __init__(
        self,
        surroundings: Surroundings,
        session_path: Path | None = None,
        engine: Engine | None = None,
        *,
        theme: str | None = None,
        ascii_only: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        """Open the session, if one is named; raises BenchtuiError where it can't be read."""
        # without colours Textual has to leave the terminal's own alone, or it makes them black on black
        super().__init__(driver_class=Terminal, ansi_color=True if "NO_COLOR" in os.environ else None)
        self.animation_level = "none"
        self._surroundings = surroundings
        self._feed = Feed(session_path, engine, clock) if session_path else None
        self._theme_names = themes.names()
        self._symbols = themes.ASCII if ascii_only else themes.UNICODE
        self._clock = clock
        self._link = Link(self)
        for name in self._theme_names:
            self.register_theme(textual_theme(themes.load(name)))
        self.theme = theme or ("terminal" if self.no_color else themes.DEFAULT)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of our own names, for a theme that lacks them."""
        return variables(themes.load(themes.DEFAULT))

    def get_default_screen(self) -> Screen[None]:
        """The session that was named, or the question for one."""
        if self._feed is not None:
            return self._monitor(self._feed)
        from benchtui.tui.screens.chooser import Chooser  # the Monitor's first paint doesn't wait for it

        return Chooser(self._surroundings, self._symbols)

    def on_mount(self) -> None:
        """Listen for the terminal's end."""
        if self._link.terminal is not None:
            self._listen()

    def on_opened(self, event: Opened) -> None:
        """Show the session that was chosen."""
        try:
            self._feed = Feed(event.path, event.engine, self._clock)
        except BenchtuiError as error:
            self.notify(str(error), markup=False)
            return
        self.push_screen(self._monitor(self._feed))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the screen, and every theme, by name."""
        for active in screen.active_bindings.values():
            binding = active.binding
            if active.node in (screen, self) and active.enabled and "move" not in binding.action:
                run = partial(self.call_later, active.node.run_action, binding.action)
                yield SystemCommand(binding.description, "", run)
        for name in self._theme_names:
            yield SystemCommand(f"Theme {name}", "", partial(setattr, self, "theme", name))

    def action_next_theme(self) -> None:
        """Change to the next theme."""
        names = self._theme_names
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        super()._display(screen, cropped(renderable))

    def _monitor(self, feed: Feed) -> Monitor:
        name = self._surroundings.name_of(feed.path)
        return Monitor(feed, name, self._symbols, self._link, self._clock)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self._go)
        loop.add_signal_handler(signal.SIGTERM, self._go)
        self.set_interval(LOOK_S, self._look)

    def _look(self) -> None:
        terminal = self._link.terminal
        if terminal is not None and (terminal.lost or terminal.hung_up()):
            self._go()

    def _go(self) -> None:
        """Leave the engine alone and go, without a word to a terminal that isn't there any more."""
        terminal = self._link.terminal
        if terminal is not None:
            terminal.lost = terminal.lost or terminal.hung_up()
        self.exit(Ending("lost", self._feed.path if self._feed else None))


def run_app(
    *,
    engine: Engine | None = None,
    session_path: Path | None = None,
    theme: str | None = None,
    ascii_only: bool = False,
) -> Ending:
    """Show the app until the reader leaves it, and say how that was.

    Raises:
        BenchtuiError: for a theme that isn't known, or a session that can't be read.
    """
    if theme is not None and theme not in themes.names():
        raise BenchtuiError(f"theme {theme!r} is not known; themes: {', '.join(themes.names())}")
    app = BenchtuiApp(Surroundings.here(), session_path, engine, theme=theme, ascii_only=ascii_only)
    return app.run(mouse=False) or Ending("closed")

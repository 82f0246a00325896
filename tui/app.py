"""The app: one terminal, the places in it, and how it is left."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import RenderableType
from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen

from benchtui import themes
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.judging import LEFT_TO_THE_SWEEP, Judging
from benchtui.themes import symbols, user_themes
from benchtui.tui.drawing.format import clean
from benchtui.tui.live.feed import Clock, Feed
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.shell import gc_control, keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import PLACES, ComparisonAsked, EditAsked, ExitReason, Opened, Place
from benchtui.tui.shell.terminal import Terminal, TerminalHandle
from benchtui.tui.widgets.role_styles import textual_theme, variables

if TYPE_CHECKING:
    from benchtui.tui.editor.screen import Editor
    from benchtui.tui.replay.player import Start

LOOK_S = 0.5
"""How often to look whether the terminal is still there."""

BETWEEN = "between"
"""The mode without anything in it."""

WIDTHS = [(0, "-tiny"), (60, "-narrow"), (100, "-medium"), (160, "-wide")]
HEIGHTS = [(0, "-flat"), (20, "-short"), (34, "-usual"), (46, "-high")]
"""From which width and height in cells a screen has which class."""


class BenchtuiApp(App[ExitReason]):
    """Five places, one at a time: a sweep to edit, a session to watch, its charts, the library, a comparison.

    Each place is a mode of Textual with a stack of its own, made when it is first gone to. The first one shown
    is Textual's default mode.
    """

    CSS_PATH = "app.tcss"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {BETWEEN: Screen}
    ENABLE_COMMAND_PALETTE = True
    ALLOW_SELECT = False
    AUTO_FOCUS = None
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        *keymap.table(
            "app",
            *((str(key), place, f"go('{place}')", place.capitalize()) for key, place in enumerate(PLACES, 1)),
            ("right_parenthesis", "next_place", "turn(1)", "Next place", "in a replay too, where numbers seek"),
            ("left_parenthesis", "place_before", "turn(-1)", "Place before"),
            ("t", "theme", "next_theme", "Next theme"),
            ("colon,ctrl+p", "commands", "command_palette", "All commands by name"),
            ("ctrl+z", "suspend", "suspend_process", "Suspend", "fg brings it back"),
        ),
        Binding("ctrl+c", "leave", "Quit", show=False),
    ]

    def __init__(
        self,
        app_context: AppContext,
        session_path: Path | None = None,
        engine: Engine | None = None,
        *,
        start: "Start | None" = None,
        theme: str | None = None,
        ascii_only: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        """Open the session, if one is named, or replay it; raises BenchtuiError where it can't be read."""
        # without colours Textual has to leave the terminal's own alone, or it makes them black on black
        super().__init__(driver_class=Terminal, ansi_color=True if "NO_COLOR" in os.environ else None)
        self.animation_level = "none"
        self._app_context = app_context
        self._feed: Feed | None = None
        self._clock = clock
        if session_path is not None:
            self._feed = self._opened(session_path, engine, replay=start is not None, start=start)
        self._shelf = user_themes.shelf()
        self._theme_names = list(self._shelf.themes)
        self._symbols = symbols.ASCII if ascii_only else symbols.UNICODE
        self._link = TerminalHandle(self)
        self._place: Place = "monitor" if self._feed else "sweep"
        self._first: Place | None = self._place
        """The place that is Textual's default mode."""
        self._compared: tuple[Path, ...] = ()
        self._source: str | Path | None = None
        for colours in self._shelf.themes.values():
            self.register_theme(textual_theme(colours))
        self._editor: Editor | None = None
        self._preferences = app_context.preferences
        usual = "terminal" if self.no_color else self._preferences.theme
        self._begin_with(theme or (usual if usual in self._theme_names else themes.DEFAULT))
        self.set_keymap(self._preferences.keymap)
        keymap.set_user_map(self._preferences.keymap)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of our own names, for a theme that lacks them."""
        return variables(themes.load(themes.DEFAULT))

    def get_default_screen(self) -> Screen[None]:
        """The place to begin with: the session that was named, or a sweep to choose and edit."""
        return self._screen_of(self._place)

    def on_mount(self) -> None:
        """Have the first place be one to come back to, and listen for the terminal's end."""
        self._modes[self.DEFAULT_MODE] = self.get_default_screen  # Textual has no public way to name it
        self.call_after_refresh(gc_control.collect_from_now_on)
        self.call_after_refresh(self._tell_mistakes)
        for problem in self._shelf.problems.values():
            self.notify(clean(problem), markup=False)
        if self._link.terminal is not None:
            self._listen()

    def on_resize(self, event: events.Resize) -> None:
        """Tell what remembers the terminal's lines."""
        if self._link.terminal is not None:
            self._link.terminal.painted.resized(event.size)

    async def on_opened(self, event: Opened) -> None:
        """Show the session that was chosen."""
        try:
            self._feed = self._opened(event.path, event.engine, replay=event.replay)
        except BenchtuiError as error:
            self.notify(str(error), markup=False)
            return
        if "charts" in self._modes:
            await self.remove_mode("charts")
        await self._renew("monitor")

    async def on_comparison_asked(self, event: ComparisonAsked) -> None:
        """Hold the chosen sessions against each other."""
        self._compared = event.paths
        await self._renew("compare")

    async def on_edit_asked(self, event: EditAsked) -> None:
        """Edit the sweep that was chosen."""
        self._source, editor = event.source, self._editor
        await self.action_go("sweep")
        if editor is not None:
            editor.edit(event.source)

    async def action_go(self, place: Place) -> None:
        """Change to a place; it is as it was left. Without a session the Monitor shows the newest that runs."""
        if place == "monitor" and self._feed is None and (engines := await self._engines()):
            await self.on_opened(Opened(engines[0].path, engines[0]))
            return
        self._place = place
        await self.switch_mode(self._mode(place))

    async def action_turn(self, by: int) -> None:
        """Change to the place after, or before."""
        await self.action_go(PLACES[(PLACES.index(self._place) + by) % len(PLACES)])

    async def action_leave(self) -> None:
        """Leave from anywhere; the editor asks where changes would be lost, the Monitor while a sweep runs."""
        if self._editor is not None and self._editor.state.draft.changed:
            await self._go_to_the_bottom_of("sweep")
            self._editor.ask_leave()
        elif self._feed is not None and self._feed.running:
            await self._go_to_the_bottom_of("monitor")
            await self.run_action("screen.ask_quit")
        else:
            self.exit(ExitReason("closed", self._feed.path if self._feed else None))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the screen, and every theme, by name."""
        bound = {each.binding.action: each for each in screen.active_bindings.values()}
        for action, active in bound.items():
            if active.binding.id and active.enabled and "move" not in action:
                run = partial(self.call_later, self.run_action, action, active.node)
                yield SystemCommand(active.binding.description, "", run)
        for name in self._theme_names:
            yield SystemCommand(f"Theme {name}", "", partial(setattr, self, "theme", name))

    def action_next_theme(self) -> None:
        """Change to the next theme."""
        names = self._theme_names
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self._preferences.choose_theme(self.theme)

    async def action_quit(self) -> None:
        """Leave, by the key that Textual keeps for it, as by any other."""
        await self.action_leave()

    async def _go_to_the_bottom_of(self, place: Place) -> None:
        """Change to a place, and leave what covers it."""
        await self.action_go(place)
        while len(self.screen_stack) > 1:
            self.pop_screen()

    def _begin_with(self, theme: str) -> None:
        """Take a theme from the start; a change of it would have Textual read all its styles a second time."""
        self.set_reactive(App.theme, theme)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False).set_class(not dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    async def _tell_mistakes(self) -> None:
        """Tell what of the user's settings can't be followed, a line each."""
        for line in await asyncio.to_thread(self._preferences.mistakes, key_owners):
            self.notify(clean(line), severity="warning", markup=False, timeout=10)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        terminal = self._link.terminal
        super()._display(screen, terminal.painted.less(renderable) if terminal else renderable)

    def _mode(self, place: Place) -> str:
        """Textual's name for a place's stack of screens, made known to it where it isn't yet."""
        if place == self._first:
            return self.DEFAULT_MODE
        if place not in self._modes:
            self.add_mode(place, partial(self._screen_of, place))
        return place

    async def _renew(self, place: Place) -> None:
        """Go to a place with a screen made anew."""
        if self.current_mode == self._mode(place):
            await self.switch_mode(BETWEEN)  # a mode can't be taken away while it is shown
        await self.remove_mode(self._mode(place))
        self._first = None if place == self._first else self._first
        await self.action_go(place)

    def _opened(self, path: Path, engine: Engine | None, *, replay: bool, start: "Start | None" = None) -> Feed:
        """A session to be shown as it is, or to be played; raises BenchtuiError where it can't be read."""
        found: Feed
        if replay:
            from benchtui.tui.replay.feed import Replay  # most sessions are opened without it

            found = Replay(path, engine, self._clock, start)
        else:
            found = Feed(path, engine, self._clock, self._app_context.find)
        found.judging = self._app_context.judging
        return found

    def _screen_of(self, place: Place) -> Screen[None]:
        """A new screen for a place; each is imported when it is first shown, so that none delays another."""
        make = {
            "sweep": self._sweep,
            "monitor": self._monitor,
            "charts": self._charts,
            "library": self._library,
            "compare": self._compare,
        }
        return sized(make[place](), self.size)

    def _sweep(self) -> Screen[None]:
        from benchtui.tui.editor.draft import FIRST
        from benchtui.tui.editor.screen import Editor

        source = self._source or (self._feed.path if self._feed else FIRST)
        self._editor = Editor(self._app_context, self._symbols, source)
        return self._editor

    def _monitor(self) -> Screen[None]:
        if self._feed is None:
            return self._nothing("monitor")
        name = self._app_context.name_of(self._feed.path)
        feed, signs = self._feed, self._symbols
        if feed.replayed:
            from benchtui.tui.replay.feed import Replay  # most sessions are opened without it
            from benchtui.tui.replay.screen import ReplayMonitor

            if isinstance(feed, Replay):
                return ReplayMonitor(feed, name, signs, self._link, self._clock, preferences=self._preferences)
        return Monitor(feed, name, signs, self._link, self._clock, preferences=self._preferences)

    def _charts(self) -> Screen[None]:
        if self._feed is None:
            return self._nothing("charts")
        from benchtui.tui.charts.screen import Charts

        return Charts(self._feed, self._symbols, self._link)

    def _library(self) -> Screen[None]:
        from benchtui.tui.library.screen import Library

        return Library(self._app_context, self._symbols)

    def _compare(self) -> Screen[None]:
        from benchtui.tui.compare.screen import Compare

        return Compare(self._compared, self._app_context, self._symbols)

    async def _engines(self) -> list[Engine]:
        """The engines that run; none where they can't be reached."""
        with suppress(BenchtuiError):
            return await asyncio.to_thread(self._app_context.running)
        return []

    def _nothing(self, place: Place) -> Screen[None]:
        """What stands in a place that shows a session while none is open."""
        from benchtui.tui.pages.empty import Nothing

        return Nothing(place, self._symbols)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self._go)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        self.set_interval(LOOK_S, self._look)

    def _end(self) -> None:
        """Leave at once, as a signal demands; a sweep that runs goes on."""
        running = self._feed is not None and self._feed.running
        self.exit(ExitReason("detached" if running else "closed", self._feed.path if self._feed else None))

    def _look(self) -> None:
        terminal = self._link.terminal
        if terminal is not None and (terminal.lost or terminal.hung_up()):
            self._go()

    def _go(self) -> None:
        """Leave the engine alone and go, without a word to a terminal that isn't there any more."""
        terminal = self._link.terminal
        if terminal is not None:
            terminal.lost = terminal.lost or terminal.hung_up()
        self.exit(ExitReason("lost", self._feed.path if self._feed else None))


def sized(screen: Screen[None], size: Size) -> Screen[None]:
    """Give a new screen the classes of the terminal's size: given later they have it all drawn again."""
    for cells, names in ((size.width, WIDTHS), (size.height, HEIGHTS)):
        screen.add_class([name for least, name in names if cells >= least][-1])
    return screen


def run_app(
    *,
    engine: Engine | None = None,
    session_path: Path | None = None,
    start: "Start | None" = None,
    theme: str | None = None,
    ascii_only: bool = False,
    judging: Judging | None = None,
) -> ExitReason:
    """Show the app until the reader leaves it, and say how that was; with a start, the session is replayed.

    Raises:
        BenchtuiError: for a theme that isn't known, or a session that can't be read.
    """
    if theme is not None and (refusal := user_themes.unknown_reason(theme)):
        raise BenchtuiError(f"theme {refusal}")
    here = AppContext.here(judging or LEFT_TO_THE_SWEEP)
    app = BenchtuiApp(here, session_path, engine, start=start, theme=theme, ascii_only=ascii_only)
    return app.run(mouse=False) or ExitReason("closed")


def key_owners() -> list[type]:
    """The app and all screens with keys of their own, which are imported for that."""
    # here, since the app paints its first screen without the others
    from benchtui.tui.case.screen import CaseScreen
    from benchtui.tui.charts.screen import Charts
    from benchtui.tui.compare.screen import Compare
    from benchtui.tui.editor.open_dialog import Opener
    from benchtui.tui.editor.screen import Editor
    from benchtui.tui.library.screen import Library
    from benchtui.tui.monitor.columns_dialog import ColumnsPage
    from benchtui.tui.pages.empty import Nothing
    from benchtui.tui.pages.page import Page
    from benchtui.tui.replay.screen import ReplayMonitor

    pages = [CaseScreen, Charts, ColumnsPage, Compare, Editor, Library, Monitor, Nothing, Opener, Page]
    return [BenchtuiApp, *pages, ReplayMonitor]

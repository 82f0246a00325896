"""Textual app: the six views, switching between them, themes and exit handling."""

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
from benchtui.sessions.sanitize import terminal_text
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.sessions.sweep import Sweep
from benchtui.themes import symbols, user_themes
from benchtui.tui.drawing.format import clean
from benchtui.tui.live import step_statistics
from benchtui.tui.live.feed import Clock, Feed
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.shell import gc_control, keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.key_queue import KeyQueue
from benchtui.tui.shell.navigation import (
    PLACES,
    BackRequested,
    ComparisonRequested,
    EditRequested,
    EngineRequested,
    ExitReason,
    Opened,
    Place,
)
from benchtui.tui.shell.terminal import Terminal, TerminalHandle, choose_scroll_bars
from benchtui.tui.widgets.breakpoints import HEIGHTS, WIDTHS
from benchtui.tui.widgets.nav_bar import place_at
from benchtui.tui.widgets.panel import Panel
from benchtui.tui.widgets.role_styles import textual_theme, variables

if TYPE_CHECKING:
    from benchtui.tui.editor.screen import Editor
    from benchtui.tui.palette_commands import PaletteCommands
    from benchtui.tui.replay.player import Start

TERMINAL_CHECK_S = 0.5
"""Seconds between checks that the terminal still exists."""

NAV_BARS = ("places", "heading")
"""Panels that list the views."""
WHEEL_ROWS = 3
"""Rows to move per step of the mouse wheel."""
EMPTY_MODE = "between"
"""Empty mode, shown while a view's own mode is being replaced."""


class BenchtuiApp(App[ExitReason]):
    """App with six views, one shown at a time: Home, sweep editor, monitor, charts, library, comparison.

    Each view is a Textual mode with a screen stack, created when first shown. The first is the default mode.
    """

    CSS_PATH = "app.tcss"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {EMPTY_MODE: Screen}
    ENABLE_COMMAND_PALETTE = True
    ALLOW_SELECT = False
    AUTO_FOCUS = None
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        *keymap.table(
            "app",
            *((str(key), place, f"go('{place}')", place.capitalize()) for key, place in enumerate(PLACES)),
            ("ctrl+pagedown,right_parenthesis", "next_place", "turn(1)", "Next tab"),
            ("ctrl+pageup,left_parenthesis", "place_before", "turn(-1)", "Previous tab"),
            ("t", "theme", "next_theme", "Next theme"),
            ("colon,ctrl+p", "commands", "command_palette", "Command palette"),
            ("ctrl+z", "suspend", "suspend_process", "Suspend", "fg resumes it"),
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
        model: str = "",
        theme: str | None = None,
        ascii_only: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        """Open or replay the session at ``session_path``, if any, else Home, with a model if one is named.

        Raises:
            BenchtuiError: If the session can't be read.
        """
        # With NO_COLOR, keep the terminal's own colors: Textual would render black on black.
        super().__init__(driver_class=Terminal, ansi_color=True if "NO_COLOR" in os.environ else None)
        self.animation_level = "none"
        self._app_context = app_context
        self._feed: Feed | None = None
        self._clock = clock
        if session_path is not None:
            self._feed = self._open_feed(session_path, engine, replay=start is not None, start=start)
        self._theme_set = user_themes.load_all()
        self._theme_names = list(self._theme_set.themes)
        signs = symbols.MONOCHROME if self.no_color else symbols.UNICODE
        console = os.environ.get("TERM") == "linux"  # its font has 256 or 512 characters
        self._symbols = symbols.ASCII if ascii_only or console else signs
        choose_scroll_bars(ascii_only=self._symbols is symbols.ASCII)
        self._link = TerminalHandle(self)
        self.key_queue = KeyQueue(self)
        self._place: Place = "monitor" if self._feed else "home"
        self._default_mode_place: Place | None = self._place
        """View that runs in Textual's default mode; None once its screen has been recreated."""
        self._visited: list[Place] = []
        """Previously shown views without duplicates, newest last."""
        self._compared: tuple[Path, ...] = ()
        self._source: str | Path | Sweep | None = None
        self._model = model
        for colors in self._theme_set.themes.values():
            self.register_theme(textual_theme(colors))
        self._editor: Editor | None = None
        self._preferences = app_context.preferences
        preferred = "terminal" if self.no_color else self._preferences.theme
        if preferred is None and self.console.color_system == "standard":  # sixteen colors
            preferred = "terminal"
        self._set_initial_theme(theme or (preferred if preferred in self._theme_names else themes.DEFAULT))
        self.set_keymap(self._preferences.keymap)
        keymap.set_user_map(self._preferences.keymap)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return defaults for benchtui's own colors, for themes that lack them."""
        return variables(themes.load(themes.DEFAULT))

    def get_default_screen(self) -> Screen[None]:
        """Return the initial screen: the open session, or Home."""
        return self._screen_of(self._place)

    def on_mount(self) -> None:
        """Register the initial view, report problems in settings and themes, and watch the terminal."""
        self._modes[self.DEFAULT_MODE] = self.get_default_screen  # Textual has no public API for this
        self.set_class(self._symbols is symbols.ASCII, "-ascii")
        self.app_resume_signal.subscribe(self, lambda app: app.screen.refresh())  # after ctrl+z and fg
        self.call_after_refresh(gc_control.freeze_and_enable)
        self.call_after_refresh(self._report_setting_problems)
        self.call_after_refresh(self.run_worker, step_statistics.load, thread=True)
        for problem in self._theme_set.problems.values():
            self.notify(clean(problem), markup=False)
        if self._link.terminal is not None:
            self._watch_terminal()

    async def on_event(self, event: events.Event) -> None:
        """Handle an event. A key or pasted text waits until the previous one has been handled."""
        if (
            isinstance(event, events.Key | events.Paste)
            and not event.is_forwarded
            and self.key_queue.enqueue(event)
        ):
            return
        wheel = isinstance(event, events.MouseScrollDown | events.MouseScrollUp) and not event.is_forwarded
        if not wheel or not await self._scroll(
            WHEEL_ROWS if isinstance(event, events.MouseScrollDown) else -WHEEL_ROWS
        ):
            await super().on_event(event)

    async def on_click(self, event: events.Click) -> None:
        """Switch to the view whose name was clicked in the navigation bar."""
        panel = event.widget
        at = event.get_content_offset(panel) if isinstance(panel, Panel) and panel.id in NAV_BARS else None
        if at is not None and isinstance(panel, Panel) and (place := place_at(panel.lines()[at.y], at.x)):
            await self.action_go(place)

    def on_unmount(self) -> None:
        """Discard keys that are still waiting."""
        self.key_queue.close()

    def on_resize(self, event: events.Resize) -> None:
        """Pass the new size to the terminal's output diff."""
        if self._link.terminal is not None:
            self._link.terminal.content.resized(event.size)

    async def on_opened(self, event: Opened) -> None:
        """Show the chosen session."""
        shown = self._feed.path if self._feed else None
        if event.instead_of not in (None, shown):
            return
        try:
            self._feed = self._open_feed(event.path, event.engine, replay=event.replay)
        except BenchtuiError as error:
            self.notify(clean(str(error)), markup=False)
            return
        if "charts" in self._modes:
            await self.remove_mode("charts")
        await self._recreate("monitor")

    def on_engine_requested(self, event: EngineRequested) -> None:
        """Start an engine, and show the session that it writes."""
        from benchtui.tui.pages.engine_start import start_engine  # not needed for the first paint

        self.run_worker(start_engine(self, self._app_context, event, self._symbols))

    async def on_comparison_requested(self, event: ComparisonRequested) -> None:
        """Compare the chosen sessions."""
        self._compared = event.paths
        await self._recreate("compare")

    async def on_edit_requested(self, event: EditRequested) -> None:
        """Edit the chosen sweep."""
        self._source, editor = event.source, self._editor
        await self.action_go("sweep")
        if editor is not None:
            editor.edit(event.source)

    async def on_back_requested(self, event: BackRequested) -> None:
        """Show the previous view, if there is one."""
        if self._visited:
            current = self._place
            await self.action_go(self._visited[-1])
            self._visited = [place for place in self._visited if place != current]

    async def action_go(self, place: Place) -> None:
        """Switch to a view, keeping its state. Without a session, the monitor opens the newest running one."""
        if place == "monitor" and self._feed is None and (engines := await self._engines()):
            await self.on_opened(Opened(engines[0].path, engines[0]))
            return
        self._visited = [visited for visited in (*self._visited, self._place) if visited != place]
        self._place = place
        await self.switch_mode(self._mode(place))

    async def action_turn(self, by: int) -> None:
        """Move ``by`` views forward, wrapping around."""
        await self.action_go(PLACES[(PLACES.index(self._place) + by) % len(PLACES)])

    async def action_leave(self) -> None:
        """Quit from any view. Confirm first if edits would be lost or a sweep is running."""
        if self._editor is not None and self._editor.state.draft.changed:
            await self._show_base_screen("sweep")
            self._editor.ask_leave()
        elif self._feed is not None and self._feed.running:
            await self._show_base_screen("monitor")
            await self.run_action("screen.ask_quit")
        else:
            self.exit(ExitReason("closed", self._feed.path if self._feed else None))

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text; what is pasted must not control the terminal or editor that it is pasted into."""
        super().copy_to_clipboard(terminal_text(text))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return the palette's commands that need no file."""
        return [
            SystemCommand(command.title, command.about, command.run)
            for command in self._palette_commands.of(screen)
        ]

    def action_command_palette(self) -> None:
        """Open the palette."""
        self._palette_commands.open(self.screen)

    @property
    def _palette_commands(self) -> "PaletteCommands":
        from benchtui.tui.palette_commands import PaletteCommands  # not needed for the first paint

        return PaletteCommands(
            self, self._feed, self._app_context, self._symbols, self._theme_names, self.choose_theme
        )

    def choose_theme(self, name: str) -> None:
        """Switch to a theme and remember it."""
        self.theme = name
        self._preferences.choose_theme(name)

    def action_next_theme(self) -> None:
        """Switch to the next theme and remember it."""
        names = self._theme_names
        at = names.index(self.theme) if self.theme in names else -1
        self.choose_theme(names[(at + 1) % len(names)])

    async def action_quit(self) -> None:
        """Handle Textual's built-in quit action like any other quit key."""
        await self.action_leave()

    async def _scroll(self, rows: int) -> bool:
        """Move the screen's selection, or its text, by rows. Return whether it has any."""
        name = next((name for name in ("move", "move_line") if hasattr(self.screen, f"action_{name}")), "")
        return bool(name) and await self.run_action(f"{name}({rows})", self.screen)

    async def _show_base_screen(self, place: Place) -> None:
        """Switch to a view and pop all screens stacked on it."""
        await self.action_go(place)
        while len(self.screen_stack) > 1:
            self.pop_screen()

    def _set_initial_theme(self, theme: str) -> None:
        """Set the initial theme directly. Assigning it later would make Textual parse all styles again."""
        self.set_reactive(App.theme, theme)
        self._watch_ansi_color(self.ansi_color)  # no public API either; uses the filter of Textual's theme
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False).set_class(not dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    async def _report_setting_problems(self) -> None:
        """Show a notification for each setting that can't be applied."""
        for line in await asyncio.to_thread(self._preferences.all_problems, key_owners):
            self.notify(clean(line), severity="warning", markup=False, timeout=10)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        terminal = self._link.terminal
        super()._display(screen, terminal.content.without_unchanged(renderable) if terminal else renderable)

    def _mode(self, place: Place) -> str:
        """Return the Textual mode of a view, registering it if needed."""
        if place == self._default_mode_place:
            return self.DEFAULT_MODE
        if place not in self._modes:
            self.add_mode(place, partial(self._screen_of, place))
        return place

    async def _recreate(self, place: Place) -> None:
        """Switch to a view with a newly created screen."""
        if self.current_mode == self._mode(place):
            await self.switch_mode(EMPTY_MODE)  # a mode can't be removed while it is shown
        await self.remove_mode(self._mode(place))
        self._default_mode_place = None if place == self._default_mode_place else self._default_mode_place
        await self.action_go(place)

    def _open_feed(
        self, path: Path, engine: Engine | None, *, replay: bool, start: "Start | None" = None
    ) -> Feed:
        """Return a live or replayed feed of a session. Raises BenchtuiError if it can't be read."""
        feed: Feed
        if replay:
            from benchtui.tui.replay.feed import Replay  # needed only for replays

            feed = Replay(path, engine, self._clock, start)
        else:
            feed = Feed(path, engine, self._clock, self._app_context.find)
        feed.judging = self._app_context.judging
        return feed

    def _screen_of(self, place: Place) -> Screen[None]:
        """Create the screen of a view, importing it on first use so that it doesn't delay the others."""
        make = {
            "home": self._home,
            "sweep": self._sweep,
            "monitor": self._monitor,
            "charts": self._charts,
            "library": self._library,
            "compare": self._compare,
        }
        return with_size_classes(make[place](), self.size)

    def _home(self) -> Screen[None]:
        from benchtui.tui.home.screen import Home

        return Home(self._app_context, self._symbols, self._model)

    def _sweep(self) -> Screen[None]:
        from benchtui.tui.editor.draft import DEFAULT_PRESET
        from benchtui.tui.editor.screen import Editor

        source = self._source or (self._feed.path if self._feed else DEFAULT_PRESET)
        self._editor = Editor(self._app_context, self._symbols, source)
        return self._editor

    def _monitor(self) -> Screen[None]:
        if self._feed is None:
            return self._empty_screen("monitor")
        name = self._app_context.name_of(self._feed.path)
        feed, signs = self._feed, self._symbols
        if feed.replayed:
            from benchtui.tui.replay.feed import Replay  # needed only for replays
            from benchtui.tui.replay.screen import ReplayMonitor

            if isinstance(feed, Replay):
                return ReplayMonitor(feed, name, signs, self._link, self._clock, preferences=self._preferences)
        return Monitor(feed, name, signs, self._link, self._clock, preferences=self._preferences)

    def _charts(self) -> Screen[None]:
        if self._feed is None:
            return self._empty_screen("charts")
        from benchtui.tui.charts.screen import Charts

        return Charts(self._feed, self._symbols, self._link)

    def _library(self) -> Screen[None]:
        from benchtui.tui.library.screen import Library

        return Library(self._app_context, self._symbols)

    def _compare(self) -> Screen[None]:
        from benchtui.tui.compare.screen import Compare

        return Compare(self._compared, self._app_context, self._symbols)

    async def _engines(self) -> list[Engine]:
        """Return the running engines, or an empty list if they can't be reached."""
        with suppress(BenchtuiError):
            return await asyncio.to_thread(self._app_context.running)
        return []

    def _empty_screen(self, place: Place) -> Screen[None]:
        """Return the placeholder for a view that needs a session when none is open."""
        from benchtui.tui.pages.empty import EmptyScreen

        return EmptyScreen(place, self._symbols)

    def _watch_terminal(self) -> None:
        loop = asyncio.get_running_loop()
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self._exit_lost_terminal)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._exit_on_signal)
        self.set_interval(TERMINAL_CHECK_S, self._check_terminal)

    def _exit_on_signal(self) -> None:
        """Exit at once on a signal. A running sweep continues."""
        running = self._feed is not None and self._feed.running
        self.exit(ExitReason("detached" if running else "closed", self._feed.path if self._feed else None))

    def _check_terminal(self) -> None:
        terminal = self._link.terminal
        if terminal is not None and (terminal.lost or terminal.hung_up()):
            self._exit_lost_terminal()

    def _exit_lost_terminal(self) -> None:
        """Exit and leave the engine running. Write nothing to a closed terminal."""
        if (terminal := self._link.terminal) is not None:
            terminal.lost = terminal.lost or terminal.hung_up()
        self.exit(ExitReason("lost", self._feed.path if self._feed else None))


def with_size_classes(screen: Screen[None], size: Size) -> Screen[None]:
    """Add the size classes to a new screen. Adding them later would redraw all of it."""
    for cells, names in ((size.width, WIDTHS), (size.height, HEIGHTS)):
        screen.add_class([name for least, name in names if cells >= least][-1])
    return screen


def run_app(
    *,
    engine: Engine | None = None,
    session_path: Path | None = None,
    start: "Start | None" = None,
    model: str = "",
    theme: str | None = None,
    ascii_only: bool = False,
    judging: VerdictSettings | None = None,
) -> ExitReason:
    """Run the app until the user leaves, and return the exit reason. With ``start``, replay the session.

    Without a session, Home is shown, with ``model`` selected if it isn't empty.

    Raises:
        BenchtuiError: if the theme is unknown or the session can't be read.
    """
    if theme is not None and (refusal := user_themes.unknown_reason(theme)):
        raise BenchtuiError(f"theme {refusal}")
    app_context = AppContext.here(judging or SWEEP_DEFAULTS)
    app = BenchtuiApp(
        app_context, session_path, engine, start=start, model=model, theme=theme, ascii_only=ascii_only
    )
    return app.run(mouse=app_context.preferences.settings.mouse) or ExitReason("closed")


def key_owners() -> list[type]:
    """Import and return the app and all screens that define key bindings."""
    # imported here because the first screen doesn't need them
    from benchtui.tui.case.screen import CaseScreen
    from benchtui.tui.charts.screen import Charts
    from benchtui.tui.compare.screen import Compare
    from benchtui.tui.editor.open_dialog import OpenDialog
    from benchtui.tui.editor.screen import Editor
    from benchtui.tui.explain.screen import WhyScreen
    from benchtui.tui.home.screen import Home
    from benchtui.tui.library.screen import Library
    from benchtui.tui.monitor.columns_dialog import ColumnsPage
    from benchtui.tui.pages.empty import EmptyScreen
    from benchtui.tui.pages.page import Page
    from benchtui.tui.pages.palette import Palette
    from benchtui.tui.pages.permission import PermissionScreen
    from benchtui.tui.replay.screen import ReplayMonitor
    from benchtui.tui.report.screen import ReportScreen

    pages = [CaseScreen, Charts, ColumnsPage, Compare, Editor, Home, Library, Monitor, EmptyScreen, OpenDialog]
    pages += [Page, PermissionScreen, ReportScreen, WhyScreen]
    return [BenchtuiApp, *pages, Palette, ReplayMonitor]

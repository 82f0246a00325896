"""Textual app: the six views, switching between them, themes and exit handling."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import RenderableType
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from benchtui import themes
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import terminal_text
from benchtui.themes import symbols, user_themes
from benchtui.tui.drawing.format import clean
from benchtui.tui.live.feed import Clock
from benchtui.tui.shell import gc_control, keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.key_queue import HOLDS_KEYS, KeyQueue
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
from benchtui.tui.views import Views, key_owners, with_size_classes
from benchtui.tui.widgets.breakpoints import HEIGHTS, WIDTHS
from benchtui.tui.widgets.nav_bar import place_at
from benchtui.tui.widgets.panel import Panel
from benchtui.tui.widgets.role_styles import textual_theme, variables

if TYPE_CHECKING:
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
            *((str(key), place, place.capitalize(), "", f"go('{place}')") for key, place in enumerate(PLACES)),
            ("ctrl+pagedown,right_parenthesis", "next_place", "Next tab", "", "turn(1)"),
            ("ctrl+pageup,left_parenthesis", "place_before", "Previous tab", "", "turn(-1)"),
            ("t", "theme", "Next theme", "", "next_theme"),
            ("colon,ctrl+p", "commands", "Command palette", "", "command_palette"),
            ("ctrl+z", "suspend", "Suspend", "fg resumes it", "suspend_process"),
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

        Raises BenchtuiError if the session can't be read.
        """
        # With NO_COLOR, keep the terminal's own colors: Textual would render black on black.
        super().__init__(driver_class=Terminal, ansi_color=True if "NO_COLOR" in os.environ else None)
        self.animation_level = "none"
        self._app_context = app_context
        self._theme_set = user_themes.load_all()
        self._theme_names = list(self._theme_set.themes)
        signs = symbols.MONOCHROME if self.no_color else symbols.UNICODE
        console = os.environ.get("TERM") == "linux"  # its font has 256 or 512 characters
        self._symbols = symbols.ASCII if ascii_only or console else signs
        choose_scroll_bars(ascii_only=self._symbols is symbols.ASCII)
        self._link = TerminalHandle(self)
        self.views = Views(app_context, self._symbols, self._link, clock, model)
        if session_path is not None:
            self.views.open_feed(session_path, engine, replay=start is not None, start=start)
        self.key_queue = KeyQueue(self)
        self._place: Place = "monitor" if session_path else "home"
        self._default_mode_place: Place | None = self._place
        """View that runs in Textual's default mode; None once its screen has been recreated."""
        self._visited: list[Place] = []
        """Previously shown views without duplicates, newest last."""
        for colors in self._theme_set.themes.values():
            self.register_theme(textual_theme(colors))
        self.preferences = app_context.preferences
        preferred = "terminal" if self.no_color else self.preferences.theme
        if preferred is None and self.console.color_system == "standard":  # sixteen colors
            preferred = "terminal"
        self._set_initial_theme(theme or (preferred if preferred in self._theme_names else themes.DEFAULT))
        self.set_keymap(self.preferences.keymap)
        keymap.set_user_map(self.preferences.keymap)

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
        for problem in self._theme_set.problems.values():
            self.notify(clean(problem), markup=False)
        if self._link.terminal is not None:
            self._watch_terminal()

    async def on_event(self, event: events.Event) -> None:
        """Handle an event. A key or pasted text waits until the previous one has been handled."""
        if isinstance(event, events.InputEvent) and not self.screen_stack:
            return  # the app is exiting
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

    def _print_error_renderables(self) -> None:
        """Print no traceback: the command reports the error, on a terminal that is restored."""

    def failure(self) -> ExitReason | None:
        """Return the reason if an exception has ended the app."""
        if not self.return_code:
            return None
        return ExitReason("failed", self.views.path, error=self._exception)

    def on_unmount(self) -> None:
        """Discard keys that are still waiting."""
        self.key_queue.close()

    def on_resize(self, event: events.Resize) -> None:
        """Pass the new size to the terminal's output diff."""
        if self._link.terminal is not None:
            self._link.terminal.content.resized(event.size)

    async def on_opened(self, event: Opened) -> None:
        """Show the chosen session."""
        if event.instead_of not in (None, self.views.path):
            return
        try:
            self.views.open_feed(event.path, event.engine, replay=event.replay)
        except BenchtuiError as error:
            self.notify(clean(str(error)), markup=False)
            return
        if "charts" in self._modes:
            await self.remove_mode("charts")
        await self._recreate("monitor")

    def on_engine_requested(self, event: EngineRequested) -> None:
        """Start an engine, and show the session that it writes."""
        from benchtui.tui.pages.engine_start import start_engine  # not needed for the first paint

        self.run_worker(start_engine(self, self._app_context, event, self._symbols), name=HOLDS_KEYS)

    async def on_comparison_requested(self, event: ComparisonRequested) -> None:
        """Compare the chosen sessions. If there is only one, choose the other in the Library."""
        if len(event.paths) == 1:
            await self.action_go("library")
            self.views.library.mark_base(event.paths[0])
            return
        self.views.compared = event.paths
        await self._recreate("compare")

    async def on_edit_requested(self, event: EditRequested) -> None:
        """Edit the chosen sweep."""
        self.views.source, editor = event.source, self.views.editor
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
        unopened = place == "monitor" and self.views.feed is None
        if unopened and (engines := await asyncio.to_thread(self._app_context.engines)):
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
        editor = self.views.editor
        if editor is not None and editor.state.draft.changed:
            await self._show_base_screen("sweep")
            editor.ask_leave()
        elif self.views.running:
            await self._show_base_screen("monitor")
            await self.run_action("screen.ask_quit")
        else:
            self.exit(ExitReason("closed", self.views.path))

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text; what is pasted must not control the terminal or editor that it is pasted into."""
        super().copy_to_clipboard(terminal_text(text))

    def action_command_palette(self) -> None:
        """Open the palette."""
        self.palette_commands.open(self.screen)

    @property
    def palette_commands(self) -> "PaletteCommands":
        """Commands of the palette."""
        from benchtui.tui.palette_commands import PaletteCommands  # not needed for the first paint

        return PaletteCommands(
            self, self.views.feed, self._app_context, self._symbols, self._theme_names, self.choose_theme
        )

    def choose_theme(self, name: str) -> None:
        """Switch to a theme and remember it."""
        self.theme = name
        self.preferences.choose_theme(name)

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
        for line in await asyncio.to_thread(self.preferences.all_problems, key_owners):
            self.notify(clean(line), severity="warning", markup=False, timeout=10)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        terminal = self._link.terminal
        super()._display(screen, terminal.content.without_unchanged(renderable) if terminal else renderable)

    def _mode(self, place: Place) -> str:
        if place == self._default_mode_place:
            return self.DEFAULT_MODE
        if place not in self._modes:
            self.add_mode(place, partial(self._screen_of, place))
        return place

    async def _recreate(self, place: Place) -> None:
        if self.current_mode == self._mode(place):
            await self.switch_mode(EMPTY_MODE)  # a mode can't be removed while it is shown
        await self.remove_mode(self._mode(place))
        self._default_mode_place = None if place == self._default_mode_place else self._default_mode_place
        await self.action_go(place)

    def _screen_of(self, place: Place) -> Screen[None]:
        return with_size_classes(self.views.screen(place), self.size)

    def _watch_terminal(self) -> None:
        loop = asyncio.get_running_loop()
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self._exit_lost_terminal)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._exit_on_signal)
        self.set_interval(TERMINAL_CHECK_S, self._check_terminal)

    def _exit_on_signal(self) -> None:
        """Exit at once on a signal. A running sweep continues."""
        self.exit(ExitReason("detached" if self.views.running else "closed", self.views.path))

    def _check_terminal(self) -> None:
        terminal = self._link.terminal
        if terminal is not None and (terminal.lost or terminal.hung_up()):
            self._exit_lost_terminal()

    def _exit_lost_terminal(self) -> None:
        """Exit and leave the engine running. Write nothing to a closed terminal."""
        if (terminal := self._link.terminal) is not None:
            terminal.lost = terminal.lost or terminal.hung_up()
        self.exit(ExitReason("lost", self.views.path))


def run_app(app: BenchtuiApp, session_path: Path | None = None) -> ExitReason:
    """Run the app until the user leaves, and return the exit reason, with the session that it opened."""
    threading.excepthook = partial(_end_app, app)
    try:
        left = app.run(mouse=app.preferences.settings.mouse)
        return app.failure() or left or ExitReason("closed")
    except Exception as error:  # noqa: BLE001  (reported with its traceback)
        return ExitReason("failed", session_path, error=error)
    finally:
        threading.excepthook = threading.__excepthook__
        if isinstance(app._driver, Terminal):
            app._driver.ensure_given_back()


def _end_app(app: BenchtuiApp, failed: threading.ExceptHookArgs) -> None:
    """End the app for an exception of one of its threads, which would be printed over the screen or lost."""
    if isinstance(failed.exc_value, Exception):
        app.call_later(app._handle_exception, failed.exc_value)

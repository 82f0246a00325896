"""The six views: their screens, created for what is open, each imported on first use."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.screen import Screen

from benchtui.engine.client import Engine
from benchtui.sessions.sweep import Sweep
from benchtui.themes.symbols import Symbols
from benchtui.tui.live.feed import Clock, Feed
from benchtui.tui.monitor import keys  # noqa: F401  (other views name the keys of the Monitor)
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import Place
from benchtui.tui.shell.terminal import TerminalHandle
from benchtui.tui.widgets.breakpoints import HEIGHTS, WIDTHS

if TYPE_CHECKING:
    from benchtui.tui.editor.screen import Editor
    from benchtui.tui.library.screen import Library
    from benchtui.tui.replay.player import Start


class Views:
    """Open session, sweep and comparison of the app, and the screens that show them."""

    def __init__(
        self, context: AppContext, symbols: Symbols, link: TerminalHandle, clock: Clock, model: str = ""
    ) -> None:
        """Start with nothing open, and Home with ``model`` selected if it isn't empty."""
        self.feed: Feed | None = None
        """Open session."""
        self.source: str | Path | Sweep | None = None
        """Sweep to edit; None for that of the open session, or the default preset."""
        self.compared: tuple[Path, ...] = ()
        self.editor: Editor | None = None
        """None until it has been shown."""
        self.library: Library
        """Set once it is shown."""
        self._context = context
        self._symbols = symbols
        self._link = link
        self._clock = clock
        self._model = model

    @property
    def path(self) -> Path | None:
        """File of the open session."""
        return self.feed.path if self.feed else None

    @property
    def running(self) -> bool:
        """Whether the sweep of the open session is running."""
        return self.feed is not None and self.feed.running

    def open_feed(
        self, path: Path, engine: Engine | None, *, replay: bool, start: "Start | None" = None
    ) -> None:
        """Open a session, live or replayed.

        Raises BenchtuiError if it can't be read. The one that was open stays open.
        """
        feed: Feed
        if replay:
            from benchtui.tui.replay.feed import Replay  # needed only for replays

            feed = Replay(path, engine, self._clock, start)
        else:
            feed = Feed(path, engine, self._clock, self._context.find)
        feed.judging = self._context.judging
        self.feed = feed

    def screen(self, place: Place) -> Screen[None]:
        """Create the screen of a view."""
        screen: Screen[None] = getattr(self, f"_{place}")()
        return screen

    def _home(self) -> Screen[None]:
        from benchtui.tui.home.screen import Home

        return Home(self._context, self._symbols, self._model)

    def _sweep(self) -> Screen[None]:
        from benchtui.tui.editor.draft import DEFAULT_PRESET
        from benchtui.tui.editor.screen import Editor

        self.editor = Editor(self._context, self._symbols, self.source or self.path or DEFAULT_PRESET)
        return self.editor

    def _monitor(self) -> Screen[None]:
        if self.feed is None:
            return self._empty("monitor")
        from benchtui.tui.monitor.screen import Monitor

        name, preferences = self._context.name_of(self.feed.path), self._context.preferences
        if self.feed.replayed:
            from benchtui.tui.replay.feed import Replay  # needed only for replays
            from benchtui.tui.replay.screen import ReplayMonitor

            if isinstance(self.feed, Replay):
                return ReplayMonitor(self.feed, name, self._symbols, self._link, self._clock, preferences)
        return Monitor(self.feed, name, self._symbols, self._link, self._clock, preferences)

    def _charts(self) -> Screen[None]:
        if self.feed is None:
            return self._empty("charts")
        from benchtui.tui.charts.screen import Charts

        return Charts(self.feed, self._symbols, self._link)

    def _library(self) -> Screen[None]:
        from benchtui.tui.library.screen import Library

        self.library = Library(self._context, self._symbols)
        return self.library

    def _compare(self) -> Screen[None]:
        from benchtui.tui.compare.screen import Compare

        return Compare(self.compared, self._context, self._symbols)

    def _empty(self, place: Place) -> Screen[None]:
        """Return the placeholder for a view that needs a session when none is open."""
        from benchtui.tui.pages.empty import EmptyScreen

        return EmptyScreen(place, self._symbols)


def with_size_classes(screen: Screen[None], size: Size) -> Screen[None]:
    """Add the size classes to a new screen. Adding them later would redraw all of it."""
    for cells, names in ((size.width, WIDTHS), (size.height, HEIGHTS)):
        screen.add_class([name for least, name in names if cells >= least][-1])
    return screen


KEY_OWNERS = (
    "app.BenchtuiApp",
    "case.screen.CaseScreen",
    "charts.screen.Charts",
    "monitor.dialogs.ColumnsPage",
    "compare.screen.Compare",
    "editor.screen.Editor",
    "pages.empty.EmptyScreen",
    "home.screen.Home",
    "library.import_dialog.ImportDialog",
    "library.screen.Library",
    "monitor.screen.Monitor",
    "editor.open_dialog.OpenDialog",
    "pages.questions.OtherSweepScreen",
    "pages.page.Page",
    "pages.questions.PermissionScreen",
    "report.screen.ReportScreen",
    "explain.screen.WhyScreen",
    "pages.palette.Palette",
    "replay.screen.ReplayMonitor",
)
"""The app and all screens that define key bindings. Most aren't needed for the first screen."""


def key_owners() -> list[type]:
    """Import and return the app and all screens that define key bindings."""
    names = (owner.rpartition(".") for owner in KEY_OWNERS)
    return [getattr(import_module(f"benchtui.tui.{module}"), name) for module, _, name in names]

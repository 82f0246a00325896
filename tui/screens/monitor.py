"""The Monitor: a sweep as it runs, or as it ran."""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer

from benchtui.sessions.errors import BenchtuiError
from benchtui.themes import Symbols
from benchtui.tui.cost import Meter
from benchtui.tui.ending import Ending, How
from benchtui.tui.feed import Clock, Feed
from benchtui.tui.foot import Foot
from benchtui.tui.pace import Pace
from benchtui.tui.places import Opened, Place
from benchtui.tui.terminal import Link
from benchtui.tui.views import View
from benchtui.tui.widgets import inks
from benchtui.tui.widgets.band import Band, band_lines
from benchtui.tui.widgets.current import Current, Part, current_lines, part_lines
from benchtui.tui.widgets.gauges import Machines, gauge_lines
from benchtui.tui.widgets.heading import Heading, heading_lines
from benchtui.tui.widgets.ink import Line, line
from benchtui.tui.widgets.keys import Keys, key_lines
from benchtui.tui.widgets.log import Log, log_lines
from benchtui.tui.widgets.panel import Panel
from benchtui.tui.widgets.places import place_lines
from benchtui.tui.widgets.rows import Arrangement
from benchtui.tui.widgets.table import CaseTable

CATCHING_UP_HZ = 200.0
"""How often to read on while a recorded session is being read: with hardly a pause but for keys."""
READING_S = 0.25
"""How often to draw meanwhile."""

KEYS: list[BindingType] = [
    Binding("q,ctrl+q,ctrl+c", "ask_quit", "Quit, or ask how", show=False),
    Binding("d", "detach", "Detach", show=False),
    Binding("s", "stop", "Stop the sweep", show=False),
    Binding("x", "skip", "Skip the case that runs", show=False),
    Binding("space", "freeze", "Freeze the display", show=False),
    Binding("escape", "back", "Back to the case that runs", show=False),
    Binding("enter", "detail", "All about a case", show=False),
    Binding("question_mark,f1", "help", "Help", show=False),
    Binding("plus,equals_sign", "faster", "Draw more often", show=False),
    Binding("minus", "slower", "Draw less often", show=False),
    Binding("R", "replay", "Replay from the beginning", show=False),
    Binding("D", "cost", "What the screen costs", show=False),
    Binding("down,j,l,right", "move(1)", "Next case", show=False),
    Binding("up,k,h,left", "move(-1)", "Previous case", show=False),
    Binding("pagedown", "move(10)", "Ten cases on", show=False),
    Binding("pageup", "move(-10)", "Ten cases back", show=False),
    Binding("home,g", "move(-1000000)", "First case", show=False),
    Binding("end,G", "move(1000000)", "Last case", show=False),
]


class Monitor(Screen[None]):
    """Reads a session on, folds it, and draws what differs, all on one timer."""

    COMPONENT_CLASSES = inks.CLASSES
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, feed: Feed, name: str, symbols: Symbols, link: Link, clock: Clock) -> None:
        super().__init__()
        self._feed = feed
        self._session_name = name
        self._symbols = symbols
        self._link = link
        self._view: View | None = None
        self._pace = Pace()
        self._timer: Timer | None = None
        self._hz = 0.0
        self._chosen: int | None = None
        self._frozen = False
        self._clock = clock
        self._drew_s = clock()
        self._foot = Foot(feed, symbols, clock)
        self._meter = Meter(symbols)
        self._stopped = self._leaving = False

    def compose(self) -> ComposeResult:
        """Heading; the case beside the gauges; the table; log and keys."""
        signs = self._symbols
        yield Panel[str](_too_small, signs, id="small")
        with Vertical(classes="body"):
            yield Panel[Place](self.place_lines, signs, id="places")
            yield Panel[Heading](heading_lines, signs, id="heading")
            with Horizontal(id="top"):
                with Vertical(id="left"):
                    yield Panel[Current](current_lines, signs, id="current")
                    yield Panel[Band](band_lines, signs, id="band")
                    yield Panel[tuple[Part, ...]](part_lines, signs, id="parts")
                yield Panel[Machines](gauge_lines, signs, id="gauges")
            yield Panel[Arrangement](_header, signs, id="header")
            yield CaseTable(self._symbols, id="table")
            yield from self.between()
            yield Panel[Log](log_lines, signs, id="log")
            yield Panel[Keys](key_lines, signs, id="keys")

    def between(self) -> ComposeResult:
        """What else stands between the table and the log."""
        yield from ()

    def place_lines(self, here: Place, width: int, height: int, symbols: Symbols) -> list[Line]:
        """Where in the app the reader is."""
        return place_lines(here, width, height, symbols)

    def on_mount(self) -> None:
        """Read and draw for the first time, then by the timer."""
        self._panel("small").show("")
        self._panel("places").show("monitor")
        self.tick()

    def on_unmount(self) -> None:
        """Let go of the file."""
        self._feed.close()

    def on_resize(self, event: events.Resize) -> None:
        """Draw once the panels have their new sizes."""
        self.call_after_refresh(self._draw)

    def on_screen_resume(self) -> None:
        """Draw what has come while another screen was above."""
        self._draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a running engine can be left alone, stopped, or asked to skip; a replay needs a record."""
        if action == "replay":
            return self._feed.session.started is not None
        return self._feed.running if action in ("detach", "stop", "skip") else True

    def action_ask_quit(self) -> None:
        """Leave; while the sweep runs, ask how."""
        if self._feed.running:
            self._foot.question = "quit"
            self._draw()
        else:
            self._leave()

    def action_detach(self) -> None:
        """Leave, and let the sweep go on."""
        self._leave()

    def action_stop(self) -> None:
        """Ask, then have the engine stop; from the question how to quit, leave when it has."""
        asked, self._foot.question = self._foot.question, None if self._foot.question else "stop"
        if asked and self._feed.engine is not None:
            self._stopped, self._leaving = True, asked == "quit"
            self._tell("stopping", self._feed.engine.stop)
        self._draw()

    def action_skip(self) -> None:
        """Have the engine end the case that runs."""
        current = self._feed.session.current
        if current is None or self._feed.engine is None:
            self._say("no case runs at this moment")
        else:
            self._tell(f"skipping case {current.index + 1}", self._feed.engine.skip)

    def action_freeze(self) -> None:
        """Stop drawing, or draw again; reading goes on."""
        self._frozen = not self._frozen
        self._draw(even_frozen=True)

    def action_back(self) -> None:
        """Drop the question; without one, go back to the case that runs."""
        if self._foot.question is None:
            self._chosen = None
        self._foot.question = None
        self._draw()

    def action_move(self, rows: int) -> None:
        """Choose another case; the first move begins at the one that is shown."""
        session = self._feed.session
        if not session.cases or self._view is None:
            return
        shown = self._view.case(self._chosen)
        at = shown.index if shown else -1
        self._chosen = min(max(at + rows, 0), len(session.cases) - 1)
        self._draw()

    def action_replay(self) -> None:
        """Play what has been recorded from its beginning."""
        self.post_message(Opened(self._feed.path, self._feed.engine, replay=True))

    def action_detail(self) -> None:
        """All that is known of the chosen case, or of the one shown."""
        from benchtui.tui.screens.case import CaseScreen  # the first paint doesn't wait for it

        view = self._view
        case = view.case(self._chosen) if view else None
        if view is None or case is None:
            self._say("no case to show yet")
        else:
            self.app.push_screen(CaseScreen(self._feed, case.index, self._symbols))

    def action_help(self) -> None:
        """What the keys and signs of this place mean."""
        from benchtui.tui.screens.help import monitor_help  # the first paint doesn't wait for it
        from benchtui.tui.screens.page import Page

        self.app.push_screen(Page(lambda width: monitor_help(self._symbols), self._symbols))

    def action_faster(self) -> None:
        """Draw more often."""
        self._pace.faster()
        self.tick()

    def action_slower(self) -> None:
        """Draw less often."""
        self._pace.slower()
        self.tick()

    def action_cost(self) -> None:
        """Show what the screen costs, or stop showing it."""
        self._meter.toggle(self._link.bytes_written)
        self._draw()

    def tick(self) -> None:
        """Read on, keep the pace, and draw what differs."""
        self._feed.poll()
        self._look()
        if self._leaving and not self._feed.running:
            self._leave()
        self._keep_pace()
        self._meter.weigh(self._link.bytes_written, self._feed.session.host.latest("engine_cpu_percent"))
        if self._feed.caught_up or self._clock() - self._drew_s >= READING_S:
            self._draw()

    def _look(self) -> None:
        """Have a view of the session as it is now: a replay that goes back has another one."""
        session, view = self._feed.session, self._view
        if session.started is None:
            self._view = None
        elif view is None or view.session is not session:
            self._view = View(self._feed, self._symbols, self._session_name, view)
            self._chosen = self._chosen if (self._chosen or 0) < len(session.cases) else None

    def _keep_pace(self) -> None:
        """Have the timer fire at the pace of the moment, and sooner while there is more to read."""
        hz = self._pace.hz(self._measuring, self._processors) if self._feed.caught_up else CATCHING_UP_HZ
        if hz != self._hz:
            if self._timer is not None:
                self._timer.stop()
            self._hz = hz
            self._timer = self.set_interval(1 / hz, self.tick)

    def _draw(self, even_frozen: bool = False) -> None:
        """Draw what differs, unless the display is frozen, covered, or hasn't taken the last picture yet."""
        if not self.is_current or self._link.congested:
            return
        self._drew_s = self._clock()
        with self.app.batch_update():
            self._panel("keys").show(self._foot.keys(self._frozen))
            self._panel("log").show(self._foot.log())
            if self._view is not None and (even_frozen or not self._frozen):
                self._draw_session(self._view)

    def _draw_session(self, view: View) -> None:
        view.renew()
        chosen = self._chosen
        table = self.query_one(CaseTable)
        self._panel("heading").show(view.heading(self._notes()))
        self._panel("current").show(view.current(chosen))
        self._panel("band").show(view.band(chosen))
        self._panel("parts").show(view.parts(chosen))
        self._panel("gauges").show(view.machines())
        table.show(view.rows(chosen))
        self._panel("header").show(table.arrangement())

    def _notes(self) -> tuple[str, ...]:
        frozen = "frozen: space" if self._frozen else ""
        rate = self._pace.note(self._measuring, self._processors) if self._feed.running else ""
        return tuple(note for note in (self._meter.words, frozen, rate) if note)

    def _tell(self, word: str, command: Callable[[], None]) -> None:
        """Pass the engine a command, and keep nobody waiting for its answer."""
        self._say(word)
        self.run_worker(self._wait_for(command))

    async def _wait_for(self, command: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(command)
        except BenchtuiError as error:
            self._leaving = self._stopped = False
            self._say(str(error))

    def _say(self, word: str) -> None:
        self._foot.say(word)
        self._draw()

    def _leave(self) -> None:
        self.app.exit(Ending(self._how(), self._feed.path))

    def _how(self) -> How:
        if self._feed.session.finished is not None:
            return "stopped" if self._stopped else "finished"
        return "detached" if self._feed.running else "cut off"

    def _panel(self, name: str) -> Panel[Any]:
        return self.query_one(f"#{name}", Panel)

    @property
    def _measuring(self) -> bool:
        return self._feed.running and self._feed.session.current is not None

    @property
    def _processors(self) -> int | None:
        started = self._feed.session.started
        return started.host.cpu_count if started else None


def _header(arrangement: Arrangement, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [arrangement.header(width, symbols)]


def _too_small(snapshot: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [line(("terminal too small", "strong")), line((f"{width} by {height}; 60 by 20 at least", "muted"))]

"""Monitor screen: a sweep while it is running, or as recorded."""

import asyncio
import gc
from collections.abc import Callable

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.case import CaseState
from benchtui.themes.symbols import Symbols
from benchtui.tui.live.feed import Clock, Feed
from benchtui.tui.model.session_view import View
from benchtui.tui.monitor.keys import KEYS
from benchtui.tui.monitor.layout import MonitorLayout, panels
from benchtui.tui.monitor.requests import EngineRequests, Request
from benchtui.tui.monitor.status_line import QUIT, QUIT_KEYS, STOP, STOP_KEYS, KeyPrompt, StatusLine
from benchtui.tui.pages.follow_up import continued, follow_up
from benchtui.tui.panels.header import SweepHeading, percent_text
from benchtui.tui.shell import gc_control
from benchtui.tui.shell.keymap import key
from benchtui.tui.shell.navigation import (
    BackRequested,
    ComparisonRequested,
    EditRequested,
    EngineRequested,
    ExitReason,
    How,
    Opened,
)
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.refresh_rate import HZ, QUIET_HZ, Meter, RefreshRate
from benchtui.tui.shell.terminal import Announcer, TerminalHandle
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.panel import PanelScreen

CATCHING_UP_HZ = 200.0
"""Timer rate while a recorded session is being read. Pauses are just long enough to handle keys."""
READING_S = 0.25
"""Extra delay between two frames during that time, in seconds."""
WHILE_ASKED = (("back", ()), ("open", ("help",)), ("ask_quit", ()))
"""Actions, with their parameters, that act while a question is open. Keys that always quit use the last."""


class Monitor(PanelScreen[None]):
    """Reads a session, applies its events, and redraws changes, on one timer."""

    BINDINGS = KEYS
    STATUS_LINE = StatusLine

    def __init__(
        self,
        feed: Feed,
        name: str,
        symbols: Symbols,
        link: TerminalHandle,
        clock: Clock,
        preferences: Preferences,
    ) -> None:
        super().__init__()
        self.feed = feed
        self.symbols = symbols
        self.status_line = self.STATUS_LINE(feed, symbols, clock, name)
        self.panel_layout = MonitorLayout(symbols)
        self.view: View | None = None
        """None until the first event of the session has been read."""
        self.preferences = preferences
        self.session_name = name
        self._requests = EngineRequests(feed, clock)
        self._link = link
        self._refresh_rate = RefreshRate(self.preferences.settings.quiet)
        self._timer: Timer | None = None
        self._hz = 0.0
        self._period_s = 0.0  # between two frames, once reading has caught up
        self._frozen = False
        self._frozen_frame_due = False  # whether the frame showing the frozen state has yet to be drawn
        self._clock = clock
        self._announcer = Announcer(link, self.preferences.settings.notify)
        self._drew_s = clock()
        self._meter = Meter(symbols)
        self._stop_requested = self._leaving = False

    def compose(self) -> ComposeResult:
        """Lay out header, case and gauges, table, log, and keys."""
        made = panels(self.symbols)

        def frame(name: str, *inside: str) -> Frame:
            return Frame(*(made[panel] for panel in inside), symbols=self.symbols, id=name)

        yield made["small"]
        with Vertical(classes="body"):
            yield made["heading"]
            yield frame("verdict", "answer")
            yield frame("machine", "gauges")
            with Horizontal(id="top"):
                yield frame("heat", "map")
                yield frame("case", "current", "band")
                yield frame("step", "parts")
            yield frame("zoomed", "zoom")
            yield frame("cases", "header", "table")
            yield from self.between()
            yield from (made["log"], made["keys"])

    def between(self) -> ComposeResult:
        """Yield additional widgets between the table and the log."""
        yield from ()

    def on_mount(self) -> None:
        """Read and draw once; this starts the timer."""
        self._panel("small").show(self.status_line.waiting())
        self.app.app_resume_signal.subscribe(self, lambda app: self._announcer.restore())  # after ctrl+z and fg
        self.call_after_refresh(self.app.run_worker, gc_control.trim_heap, thread=True)
        self.tick()

    def on_unmount(self) -> None:
        """Close the session file and restore garbage collection."""
        if self._timer is not None:  # the last tick may have started it after Textual stopped all others
            self._timer.stop()
        self.feed.close()
        gc_control.freeze_and_enable()

    def on_resize(self, event: events.Resize) -> None:
        """Redraw once the panels have their new sizes."""
        self.call_after_refresh(self.draw)

    def on_screen_resume(self) -> None:
        """Draw what arrived while another screen was on top."""
        self.draw()

    def on_key(self, event: events.Key) -> None:
        """Answer the open question, if the key is one of its answers."""
        question = self.status_line.question
        if question is not None and event.key in question.answers:
            event.stop()
            self.status_line.question = None
            question.answers[event.key]()
            self.draw()

    def on_click(self, event: events.Click) -> None:
        """Select the clicked case, or sort by the clicked column. A double click opens the case."""
        if self.view is None or self.status_line.question is not None:
            return
        if not self.panel_layout.click(event, self.view.order):
            return
        self.draw()
        if event.chain == 2 and event.widget is not None and event.widget.id == "table":
            self.action_open("detail")

    @property
    def holds_keys(self) -> bool:
        """Whether a newly opened session has yet to be read. Until then, keys would have no case to act on."""
        return self.feed.reading and self.shown_case is None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable replay until something has been recorded, and most actions while a question is open."""
        if self.status_line.question is not None:
            return (action, parameters) in WHILE_ASKED
        return action != "replay" or self.feed.session.started is not None

    def action_ask_quit(self) -> None:
        """Quit; while the sweep is running, ask how."""
        if not self.feed.running:
            self._leave()
            return
        self.ask(KeyPrompt(QUIT, QUIT_KEYS, {"d": self._leave, "X": lambda: self._stop(leave=True)}))

    def action_detach(self) -> None:
        """Quit and leave the sweep running."""
        self._leave()

    def action_ask_stop(self) -> None:
        """Stop the engine after a confirmation."""
        if self.feed.running:
            self.ask(KeyPrompt(STOP, STOP_KEYS, {"y": self._stop}))
        else:
            self.show_message("no engine is running this session")

    def action_engine(self, what: str) -> None:
        """Send a request to the engine, usually about the shown case. ``again`` continues an ended sweep."""
        if what == "again" and not self.feed.running and self.feed.session.left:
            self.show_message("continuing the sweep")
            self.post_message(EngineRequested(start=continued(self.feed.path), refused=self.show_message))
            return
        try:
            self.request(self._requests.build(what, self.shown_case))
        except BenchtuiError as error:
            self.show_message(str(error))

    def action_measure(self) -> None:
        """Measure what the session leaves open, and append it to the session."""
        conclusions = None if self.feed.running else self.feed.conclusions.newest()
        if conclusions is None or not conclusions.remaining:
            running = "the sweep is still running" if self.feed.running else "no measurement would decide more"
            self.show_message(running)
            return
        self.show_message("starting to measure what is open")
        start = follow_up(self.feed.path, self.feed.session, conclusions.open)
        self.post_message(EngineRequested(start=start, into=self.feed.path, refused=self.show_message))

    def action_freeze(self) -> None:
        """Freeze or resume drawing; reading continues."""
        self._frozen = not self._frozen
        self._frozen_frame_due = True
        self.draw()

    def action_back(self) -> None:
        """Go back one step: question, prompt, panel, filter, selected case, then the view."""
        from benchtui.tui.monitor.prompts import cancel_prompt  # lazy import: not needed for the first paint

        if cancel_prompt(self) or self.status_line.question is not None:
            self.status_line.question = None
        elif self.panel_layout.zoomed is not None:
            self.panel_layout.zoom(self, None)
        elif self.view is not None and self.view.order.filter:
            self.view.order.filter = ""
        elif self.view is not None and self.view.order.chosen is not None:
            self.view.order.chosen = None
        else:
            self.post_message(BackRequested())
        self.draw()

    def action_move(self, rows: int) -> None:
        """Move the selection, starting at the shown case; in the log, scroll."""
        if self.panel_layout.zoomed == "log":
            self.panel_layout.scroll(-rows)
        elif self.view is not None:
            self.view.order.move(rows, self.shown_case)
        self.draw()

    def action_table(self, what: str) -> None:
        """Sort the table, reverse it, or select the next or previous row."""
        if self.view is not None:
            self.view.order.change(what, self.shown_case)
        self.draw()

    def action_view(self, what: str) -> None:
        """Zoom a panel, or switch to the next one."""
        self.panel_layout.change(self, what, "gauges" if self.feed.session.nodes else "band")
        self.draw()

    def action_quiet(self) -> None:
        """Toggle quiet mode."""
        self._refresh_rate.toggle(self.feed.processors)
        self.tick()

    def action_cost(self) -> None:
        """Toggle the display of the UI's own overhead."""
        self._meter.toggle(self._link.bytes_written)
        self.status_line.aside = self._meter.words
        self.draw()

    def action_ask(self, what: str) -> None:
        """Open a prompt: ``filter``, ``add`` a case, or ``export`` a report."""
        from benchtui.tui.monitor.prompts import open_prompt  # lazy import: not needed for the first paint

        open_prompt(self, what, self._requests)

    def action_open(self, what: str) -> None:
        """Open a case's ``detail``, ``help``, or ``columns``; copy the ``row`` or the ``report``."""
        from benchtui.tui.monitor.dialogs import OPEN  # lazy imports: not needed for the first paint
        from benchtui.tui.pages.help import open_help
        from benchtui.tui.pages.view_help import monitor_help

        if what == "help":
            open_help(self, self.symbols, monitor_help)
        else:
            OPEN[what](self)

    def action_replay(self) -> None:
        """Replay the recording from the beginning."""
        self.post_message(Opened(self.feed.path, self.feed.engine, replay=True))

    def action_compare(self) -> None:
        """Compare this session with another one, which is chosen in the Library."""
        self.post_message(ComparisonRequested((self.feed.path,)))

    def action_edit(self) -> None:
        """Edit the sweep of this session as a new one."""
        self.post_message(EditRequested(self.feed.path))

    def tick(self) -> None:
        """Read new events, adjust the timer, and redraw what changed."""
        if self.feed.closed:  # a timer that fired just before may still call
            return
        self.feed.poll()
        gc.disable() if self.feed.reading else gc_control.freeze_and_enable()
        if self.feed.cache.has_pending_work:
            self.run_worker(self._run_cache())
        self._update_view()
        if self.view is not None and self.view.case_rows.statistics.has_pending_work:
            self.run_worker(self.view.case_rows.statistics.compute_pending())
        if self.feed.conclusions.has_pending_work:
            self.call_after_refresh(self._start_concluding)  # which would slow down the drawing of this frame
        if not self.feed.running:
            self.status_line.question = None  # all questions are about a running sweep
            if self._leaving:
                self._leave()
        self._adjust_timer()
        self._meter.update(
            self._link.bytes_written, self.feed.session.machine.trace.latest("engine_cpu_percent")
        )
        self.status_line.aside = self._meter.words
        due = self.feed.caught_up or self._clock() - self._drew_s >= self._period_s + READING_S
        drawn = due and self.draw()
        if self.feed.caught_up and not drawn and self.view is not None and not self._link.congested:
            self.view.update()  # covered or frozen
            self._announce(self.view.heading(()))

    def _announce(self, heading: SweepHeading) -> None:
        """Show the sweep's progress in the window title, and announce its end."""
        self._announcer.update(heading.name, heading.state, percent_text(heading.progress).strip())

    def draw(self) -> bool:
        """Redraw what changed. Skipped while the screen is covered or the terminal is still writing.

        While frozen, only the log and the keys are updated. Return whether all was redrawn.
        """
        if not self.is_current or self._link.congested:
            return False
        self._drew_s = self._clock()
        with self.app.batch_update():
            keys = self.status_line.keys(self._frozen, self.panel_layout.zoomed is not None)
            self.query_one(KeyBar).show(keys, fixed=self.status_line.question is not None)
            messages = self.view.messages() if self.view else ()
            log = self.status_line.log(messages)
            self._panel("log").show(log)
            if self.view and (self._frozen_frame_due or not self._frozen):
                self._frozen_frame_due = False
                self.view.update()
                heading = self.view.heading(self._notes())
                self.panel_layout.draw(self, self.view, heading, log.word)
                self._announce(heading)
                return True
            return False

    def ask(self, question: KeyPrompt) -> None:
        """Show a question until it is answered."""
        self.status_line.question = question
        self.draw()

    def show_message(self, text: str) -> None:
        """Show a message below the table for ``MESSAGE_S`` seconds."""
        self.status_line.show_message(text)
        self.draw()

    def request(self, request: Request) -> None:
        """Send a request to the engine without blocking the UI."""
        self.show_message(request.message)
        self.run_in_thread(request.call)

    def run_in_thread(self, call: Callable[[], object], done: str = "") -> None:
        """Run a call in a thread, then show its error or ``done``."""
        self.run_worker(self._finish(call, done))

    async def _finish(self, call: Callable[[], object], done: str) -> None:
        try:
            await asyncio.to_thread(call)
        except BenchtuiError as error:
            self._leaving = self._stop_requested = False
            self.show_message(str(error))
        else:
            self.show_message(done) if done else self.draw()

    @property
    def shown_case(self) -> CaseState | None:
        """Case shown in the upper panels."""
        return self.view.case if self.view else None

    async def _run_cache(self) -> None:
        """Summarize or reload steps of ended cases until nothing is pending."""
        cache = self.feed.cache
        while cache.has_pending_work:
            loaded = cache.loaded
            await cache.run_pending()
            if cache.problem:
                self.show_message(cache.problem)
                cache.problem = ""
            if loaded is not cache.loaded:
                self.draw()
        if self.view is not None:
            self.view.case_rows.refresh()
        self.draw()

    def _start_concluding(self) -> None:
        if self.feed.conclusions.has_pending_work and not self.feed.closed:
            self._conclude()

    @work
    async def _conclude(self) -> None:
        await self.feed.conclusions.compute_pending()
        if not self.feed.running:
            gc_control.trim_heap()
        self.draw()

    def _update_view(self) -> None:
        """Create a view for the current session. A replay that seeks back has a new one."""
        session, view = self.feed.session, self.view
        if session.started is None:
            self.view = None
        elif view is None or view.session is not session:
            newest, preferences = self.feed.conclusions.newest, self.preferences
            self.view = View(self.feed, self.symbols, self.session_name, view, newest, preferences)

    def _adjust_timer(self) -> None:
        """Set the timer to the current refresh rate, or faster while reading."""
        hz = CATCHING_UP_HZ
        if self.feed.caught_up:
            hz = QUIET_HZ if self._quiet else HZ
            self._period_s = 1 / hz
        if hz != self._hz:
            if self._timer is not None:
                self._timer.stop()
            self._hz = hz
            self._timer = self.set_interval(1 / hz, self.tick)

    def _notes(self) -> tuple[str, ...]:
        words = self.view.order.filter if self.view else ""
        covered = self.panel_layout.zoomed not in (None, "table")  # else the table's title shows the filter
        filtered = f"/{words}" if words and covered else ""
        frozen = f"frozen: {key('monitor.freeze')}" if self._frozen else ""
        quiet = f"quiet, {QUIET_HZ:g} Hz" if self._quiet else ""
        return tuple(note for note in (filtered, frozen, quiet) if note)

    @property
    def _quiet(self) -> bool:
        return self._refresh_rate.quiet(self.feed.measuring, self.feed.processors)

    def _stop(self, *, leave: bool = False) -> None:
        self._stop_requested, self._leaving = True, leave
        self.request(self._requests.stop())

    def _leave(self) -> None:
        self.app.exit(ExitReason(self._how(), self.feed.path, self.feed.session))

    def _how(self) -> How:
        if self.feed.session.finished is not None:
            return "stopped" if self._stop_requested else "finished"
        return "detached" if self.feed.running else "crashed"

"""The Monitor on a recorded session that plays: its transport line, and the keys for it."""

from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.marks import Mark, words
from benchtui.themes import Symbols
from benchtui.tui.ending import How
from benchtui.tui.feed import Clock
from benchtui.tui.foot import Foot
from benchtui.tui.places import PLACES, Opened
from benchtui.tui.player import Aim
from benchtui.tui.preferences import Preferences
from benchtui.tui.replay import Replay
from benchtui.tui.screens.monitor import Monitor
from benchtui.tui.terminal import Link
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.panel import Panel
from benchtui.tui.widgets.transport import State, Transport, clock_text, transport_lines, worst

LIVE_ONLY = frozenset({"detach", "ask_stop", "engine", "freeze", "replay"})
"""What can be done to a sweep that runs, and not to a record of one."""


class ReplayMonitor(Monitor):
    """Shows each moment of a record as the Monitor showed it, and lets the reader choose the moment."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "Play or pause", show=False),
        Binding("right_square_bracket", "step(1)", "A recorded moment on", show=False),
        Binding("left_square_bracket", "step(-1)", "A recorded moment back", show=False),
        Binding("right_curly_bracket", "jump(1)", "Next event", show=False),
        Binding("left_curly_bracket", "jump(-1)", "Previous event", show=False),
        Binding("greater_than_sign", "speed(1)", "Play faster", show=False),
        Binding("less_than_sign", "speed(-1)", "Play slower", show=False),
        *(Binding(str(tenth), f"share({tenth}0)", f"Go to {tenth}0 %", show=False) for tenth in range(10)),
        Binding("g", "ask_moment", "Go to a time, a share or a case", show=False),
        Binding("tab", "place(1)", "Next place", show=False),
        Binding("shift+tab", "place(-1)", "Previous place", show=False),
    ]

    def __init__(
        self,
        feed: Replay,
        name: str,
        symbols: Symbols,
        link: Link,
        clock: Clock,
        *,
        preferences: Preferences | None = None,
    ) -> None:
        super().__init__(feed, name, symbols, link, clock, preferences=preferences)
        self._replay = feed
        self.foot = ReplayFoot(feed, symbols, clock, name)
        self._marks: tuple[Mark, ...] = ()
        self._seen = (0, 0.0)
        """How many marks there were, and the end of the record, when they were last chosen from."""

    def between(self) -> ComposeResult:
        """The transport line, and where to type a moment."""
        yield Panel[Transport](transport_lines, self.symbols, id="transport")
        moment = Input(placeholder="90, 1:30, 50% or case 3; esc: back", id="moment", compact=True)
        moment.cursor_blink = False
        moment.display = False
        yield moment

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A record can't be stopped."""
        return action not in LIVE_ONLY and (action, parameters) != ("ask", ("add",))

    def tick(self) -> None:
        """Play on and draw what differs."""
        super().tick()
        if self._replay.refused:
            self.say(self._replay.refused)
            self._replay.refused = ""

    def action_play(self) -> None:
        """Play on, or stand still."""
        self._replay.player.toggle()
        self.tick()

    def action_step(self, direction: int) -> None:
        """Go to the recorded moment after, or before."""
        self._replay.step(direction)
        self.tick()

    def action_jump(self, direction: int) -> None:
        """Go to the event after, or before, and say what it is."""
        mark = self._replay.jump(direction)
        if mark is None:
            self.say("no event after this moment" if direction > 0 else "no event before this moment")
        else:
            self.say(f"{clock_text(mark.t)}  {words(mark, self._replay.timeline.whole)}")
        self.tick()

    def action_speed(self, direction: int) -> None:
        """Play faster, or slower."""
        player = self._replay.player
        player.faster() if direction > 0 else player.slower()
        self.tick()

    def action_share(self, percent: int) -> None:
        """Go to a share of the record."""
        self._go(Aim(percent=percent))

    def action_ask_moment(self) -> None:
        """Ask for a moment to go to."""
        self._moment.display = True
        self._moment.value = ""
        self.set_focus(self._moment)

    def action_place(self, direction: int) -> None:
        """Change to the place after, or before."""
        place = PLACES[(PLACES.index("monitor") + direction) % len(PLACES)]
        self.app.call_later(partial(self.app.run_action, f"go('{place}')"))

    def action_back(self) -> None:
        """One step back; where there is none, leave for the end of the session."""
        if self._moment.display:
            self._put_away()
        elif self._inside:
            super().action_back()
        else:
            self.post_message(Opened(self.feed.path, self.feed.engine))

    def action_ask_quit(self) -> None:
        """Leave; nothing runs that could be asked about."""
        self._leave()

    def action_open(self, what: str) -> None:
        """Open the help of a replay, or what the Monitor opens."""
        from benchtui.tui.screens.help import replay_help  # the first paint doesn't wait for it
        from benchtui.tui.screens.page import Page

        if what == "help":
            self.app.push_screen(Page(lambda width: replay_help(self.symbols), self.symbols))
        else:
            super().action_open(what)

    @on(Input.Submitted, "#moment")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._put_away()
        try:
            self._go(Aim.parse(event.value))
        except BenchtuiError as error:
            self.say(str(error))

    def _put_away(self) -> None:
        self._moment.display = False
        self.set_focus(None)

    def _go(self, aim: Aim) -> None:
        try:
            self._replay.go(aim)
        except BenchtuiError as error:
            self.say(str(error))
        self.tick()

    def draw(self) -> None:
        """Draw what differs, the transport line included."""
        super().draw()
        if not self.is_current or self.view is None:
            return
        replay = self._replay
        end_s = replay.timeline.end_s if replay.timeline.complete else None
        seen = (len(replay.timeline.marks.all), replay.timeline.end_s)
        if seen != self._seen:
            self._seen, self._marks = seen, worst(replay.timeline.marks.all, replay.timeline.end_s)
        shown = Transport(_state(replay), replay.now_s, end_s, replay.player.speed, self._marks, replay.origins)
        self.query_one("#transport", Panel).show(shown)

    def _how(self) -> How:
        return "closed"

    @property
    def _inside(self) -> bool:
        """Whether there is something to go back from: a typed line, a panel, a filter, a chosen case."""
        chosen = self.arranging is not None and (self.arranging.chosen is not None or self.arranging.filter)
        return bool(self.foot.typing is not None or self.picture.zoomed is not None or chosen)

    @property
    def _moment(self) -> Input:
        return self.query_one("#moment", Input)


class ReplayFoot(Foot):
    """What can be pressed in a replay."""

    def keys(self, frozen: bool, zoomed: bool) -> Keys:
        """The keys of the moment, at most seven."""
        return (
            ("space", "play/pause"),
            ("[ ]", "step"),
            ("{ }", "event"),
            ("< >", "speed"),
            ("0-9", "seek"),
            ("?", "help"),
            ("esc", "leave"),
        )

    def waiting(self) -> str:
        """Why the picture isn't there yet."""
        return "" if self._feed.caught_up else "reading on to this moment"


def _state(replay: Replay) -> State:
    if not replay.caught_up:
        return "seeking"
    if replay.over:
        return "at end"
    return "playing" if replay.player.playing else "paused"

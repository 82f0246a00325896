"""Replay screen: the Monitor on a recorded session, with a transport line."""

from textual import events
from textual.app import ComposeResult

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.replay.markers import TimelineEvent, marker_text
from benchtui.tui.drawing.format import clean
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.monitor.status_line import StatusLine
from benchtui.tui.panels.header import SweepHeading
from benchtui.tui.replay.feed import Replay
from benchtui.tui.replay.player import ReplayTarget
from benchtui.tui.replay.transport import (
    State,
    TransportPosition,
    clock_text,
    most_severe,
    percent_at,
    transport_help,
    transport_lines,
)
from benchtui.tui.shell import keymap
from benchtui.tui.shell.keymap import key
from benchtui.tui.shell.navigation import How, Opened
from benchtui.tui.table.case_names import case_name
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.panel import Panel

LIVE_ONLY = frozenset({"detach", "ask_stop", "engine", "freeze", "replay"})
"""Actions on a running sweep that a recording doesn't support."""
EVENTS = "a case starts or ends, throttling, an outlier, a message"


ALT_DIGITS = (
    *("º", "inverted_exclamation_mark", "trade_mark_sign", "pound_sign", "cent_sign"),
    *("infinity", "section_sign", "pilcrow_sign", "bullet", "ª"),
)
"""Keys that Textual reports for alt+0 to alt+9 in terminals without the kitty keyboard protocol."""


def _seek_key(tenth: int) -> tuple[str, ...]:
    percent = 10 * tenth
    return f"alt+{tenth},{ALT_DIGITS[tenth]}", f"share_{percent}", f"Go to {percent} %", "", f"share({percent})"


class ReplayStatusLine(StatusLine):
    """Status line of a replay."""

    def keys(self, frozen: bool, zoomed: bool) -> Keys:
        """Return the keys available now, at most seven."""
        if zoomed or self.prompt is not None:
            return super().keys(frozen, zoomed)
        over = self._feed.session.finished is not None or self._feed.cut_off
        return (
            ("space", "play/pause"),
            ("[ ]", "step"),
            ("{ }", "event"),
            ("< >", "speed"),
            *([] if over else [(key("replay.end"), "end")]),
            ("?", "help"),
            ("esc", "leave"),
        )

    def waiting(self) -> str:
        """Return a message while events up to this moment are read; otherwise empty."""
        return "" if self._feed.caught_up else "reading up to this position"


class ReplayMonitor(Monitor):
    """Shows any moment of a recording as the Monitor showed it."""

    BINDINGS = keymap.table(
        "replay",
        ("space", "play", "Play or pause", "at the end, play again"),
        ("right_square_bracket", "step", "Next recorded moment", "hold to accelerate", "step(1)"),
        ("left_square_bracket", "step_back", "Previous recorded moment", "", "step(-1)"),
        ("right_curly_bracket", "event", "Next event", EVENTS, "jump(1)"),
        ("left_curly_bracket", "event_before", "Previous event", "", "jump(-1)"),
        ("greater_than_sign", "faster", "Play faster", "up to 64x", "speed(1)"),
        ("less_than_sign", "slower", "Play slower", "down to 0.25x", "speed(-1)"),
        *(_seek_key(tenth) for tenth in range(10)),
        ("dollar_sign", "end", "Go to the end", "its answer, as the sweep left it", "share(100)"),
        (
            "ctrl+g",
            "moment",
            "Go to a position",
            "a time, a percentage or a case: 90, 1:30, 50%, case 3",
            "ask_moment",
        ),
    )

    STATUS_LINE = ReplayStatusLine
    feed: Replay
    _marks: tuple[TimelineEvent, ...] = ()
    _transport: TransportPosition | None = None
    """Transport line last shown."""
    _seen = (0, 0.0)
    """Number of marks and end of the recording when ``_marks`` was last computed."""

    def between(self) -> ComposeResult:
        """Yield the transport line."""
        yield Panel(transport_lines, self.symbols, id="transport")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions that need a running sweep."""
        return action not in LIVE_ONLY and (action, parameters) != ("ask", ("add",))

    def on_click(self, event: events.Click) -> None:
        """Seek to the clicked position of the transport line. Textual calls the Monitor's handler as well."""
        panel, shown = self._panel("transport"), self._transport
        if event.widget is not panel or shown is None or (at := event.get_content_offset(panel)) is None:
            return
        percent = percent_at(shown, at.x, panel.size.width, self.symbols)
        if percent is not None:
            self.feed.seek_to(ReplayTarget(percent=percent))
            self.tick()

    def tick(self) -> None:
        """Advance the replay and redraw what changed."""
        super().tick()
        if self.feed.seek_error:
            self.show_message(self.feed.seek_error)
            self.feed.seek_error = ""

    def action_play(self) -> None:
        """Play or pause."""
        self.feed.player.toggle()
        self.tick()

    def action_step(self, direction: int) -> None:
        """Go to the next or previous recorded moment."""
        self.feed.step(direction)
        self.tick()

    def action_jump(self, direction: int) -> None:
        """Go to the next or previous event and show what it is."""
        mark = self.feed.jump(direction)
        if mark is None:
            self.show_message("no event after this moment" if direction > 0 else "no event before this moment")
        else:
            text = marker_text(mark, self.feed.timeline.whole, case_name)
            self.show_message(f"{clock_text(mark.t)}  {text}")
        self.tick()

    def action_speed(self, direction: int) -> None:
        """Play faster or slower."""
        self.feed.player.change_speed(direction)
        self.tick()

    def action_share(self, percent: int) -> None:
        """Seek to a percentage of the recording."""
        self.feed.seek_to(ReplayTarget(percent=percent))
        self.tick()

    def action_ask_moment(self) -> None:
        """Open a prompt for a moment to seek to."""
        from benchtui.tui.monitor.prompts import TextPrompt, show_prompt  # takes memory until then

        about = "Jump to a time, percentage or case: 90, 1:30, 50%, case 3"
        show_prompt(self, TextPrompt(about, submitted=self._go_to))

    def action_back(self) -> None:
        """Go back one step. If there is none, leave the replay and open the session at its end."""
        if self._can_go_back:
            super().action_back()
        else:
            self.post_message(Opened(self.feed.path, self.feed.engine))

    def action_ask_quit(self) -> None:
        """Quit without asking, since nothing is running."""
        self._leave()

    def action_open(self, what: str) -> None:
        """Open the replay's help, or whatever the Monitor opens."""
        from benchtui.tui.pages.help import open_help
        from benchtui.tui.pages.view_help import monitor_help  # lazy imports: not needed for the first paint

        if what == "help":
            open_help(self, self.symbols, lambda signs: (transport_help(signs), *monitor_help(signs)))
        else:
            super().action_open(what)

    def _go_to(self, text: str) -> str:
        """Seek to a typed moment. Return an error message, or an empty string."""
        try:
            self.feed.seek_to(ReplayTarget.parse(text))
        except BenchtuiError as error:
            return str(error)
        self.tick()
        return ""

    def draw(self) -> bool:
        """Redraw what changed, including the transport line."""
        drawn = super().draw()
        if not self.is_current or self.view is None:
            return drawn
        replay = self.feed
        end_s = replay.timeline.end_s if replay.timeline.complete else None
        seen = (len(replay.timeline.marks.all), replay.timeline.end_s)
        if seen != self._seen:
            self._seen, self._marks = seen, most_severe(replay.timeline.marks.all, replay.timeline.end_s)
        shown = TransportPosition(
            _state(replay), replay.now_s, end_s, replay.player.speed, self._marks, replay.origins
        )
        self._transport = shown
        self._panel("transport").show(shown)
        return drawn

    def _announce(self, heading: SweepHeading) -> None:
        """Show the session's name in the window title. Nothing is running whose end could be announced."""
        self._announcer.show_name(clean(self.session_name))

    def _how(self) -> How:
        return "closed"

    @property
    def _can_go_back(self) -> bool:
        """Whether there is anything to go back from: prompt, panel, filter, or selected case."""
        order = self.view.order if self.view else None
        chosen = order is not None and (order.chosen is not None or order.filter)
        return bool(self.status_line.prompt is not None or self.panel_layout.zoomed is not None or chosen)


def _state(replay: Replay) -> State:
    if not replay.caught_up:
        return "seeking"
    if replay.over:
        return "at end"
    return "playing" if replay.player.playing else "paused"

"""Status line of the Monitor: questions, status messages, engine messages, and keys."""

from collections.abc import Callable

import msgspec

from benchtui.sessions.events import Message
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.live.feed import Clock, Feed
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.message_line import Log

QUIT = "The sweep is running.  d: detach and let it continue.  X: stop it.  esc: back."
QUIT_KEYS: Keys = (("d", "detach"), ("X", "stop"), ("esc", "back"))
STOP = "Stop the sweep?  Measurements are kept.  y: stop it.  esc: back."
STOP_KEYS: Keys = (("y", "stop the sweep"), ("esc", "back"))
CUT_OFF = "engine gone: the recording is incomplete; measurements are kept"
RESUME_HINT = "engine gone; benchtui run --resume {name} continues the sweep"
MESSAGE_S = 5.0
"""Seconds for which a status message is shown."""
MOST_MESSAGES = 20
PROMPT_KEYS: Keys = (("enter", "accept"), ("esc", "back"))


class KeyPrompt(msgspec.Struct, frozen=True):
    """A question answered with a key."""

    text: str
    keys: Keys
    answers: dict[str, Callable[[], None]] = msgspec.field(default_factory=dict)
    """Action of each key; any other key leaves the question open."""


class StatusLine:
    """Bottom lines of the Monitor: messages, and the keys available now."""

    def __init__(self, feed: Feed, symbols: Symbols, clock: Clock, name: str) -> None:
        self.question: KeyPrompt | None = None
        """Question waiting for an answer."""
        self.prompt: str | None = None
        """Text of the open prompt; None if there is none."""
        self.aside = ""
        """Text shown when there is nothing else to show."""
        self._feed = feed
        self._name = name
        """Name of the session on the command line."""
        self._symbols = symbols
        self._clock = clock
        self._message, self._until_s = "", 0.0

    def show_message(self, text: str) -> None:
        """Show a status message for ``MESSAGE_S`` seconds."""
        self._message, self._until_s = clean(text), self._clock() + MESSAGE_S

    def log(self, messages: tuple[Message, ...]) -> Log:
        """Return the newest messages, and below them the most urgent line."""
        messages = messages[-MOST_MESSAGES:]
        if self.prompt is not None:
            return Log(messages, clean(self.prompt), "bright")
        if self.question is not None:
            return Log(messages, self.question.text, "bright")
        if self._feed.problem is not None:
            return Log(messages, clean(self._feed.problem), "bad")
        if self._clock() < self._until_s:
            return Log(messages, self._message)
        if self._feed.cut_off:
            session = self._feed.session
            resume = RESUME_HINT.format(name=self._feed.command_word(self._name))
            return Log(messages, resume if session.done < len(session.cases) else CUT_OFF, "bad")
        return Log(messages, self.waiting() or self.aside, "plain")

    def keys(self, frozen: bool, zoomed: bool) -> Keys:
        """Return the keys available now, at most seven."""
        if self.prompt is not None:
            return PROMPT_KEYS
        if self.question is not None:
            return self.question.keys
        rows = (self._symbols.arrows, "cases")
        if zoomed:
            return (("z", "back"), ("tab", "next panel"), (self._symbols.arrows, "move"), ("?", "help"))
        if self._feed.running:
            freeze = ("space", "unfreeze" if frozen else "freeze")
            pause = ("P", "resume" if self._feed.session.paused else "pause")
            return (("x", "skip"), pause, freeze, rows, ("enter", "detail"), ("?", "help"), ("q", "quit"))
        keys = (("s", "sort"), ("/", "filter"), ("R", "replay"), ("enter", "detail"))
        return (rows, *keys, ("?", "help"), ("q", "quit"))

    def waiting(self) -> str:
        """Return what the UI is waiting for; empty if nothing."""
        if self._feed.session.started is None:
            return "starting the engine" if self._feed.running else "reading the session"
        if not self._feed.caught_up:
            return "reading"
        waits = self._feed.session.waiting
        return clean(f"case {waits[-1].case + 1} is {waits[-1].reason}; x: don't wait") if waits else ""

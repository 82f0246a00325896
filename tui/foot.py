"""The last lines of the Monitor: questions, the screen's own word, the engine's messages, and the keys."""

from typing import Literal

from benchtui.themes import Symbols
from benchtui.tui.feed import Clock, Feed
from benchtui.tui.text import clean
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.log import Log

Question = Literal["quit", "stop"]

QUESTIONS = {
    "quit": "The sweep runs on.  d: detach, it goes on without the screen.  s: stop it.  esc: back.",
    "stop": "Stop the sweep?  What was measured is kept.  s: stop it.  esc: back.",
}
ANSWERS: dict[str, Keys] = {
    "quit": (("d", "detach"), ("s", "stop"), ("esc", "back")),
    "stop": (("s", "stop the sweep"), ("esc", "back")),
}
CUT_OFF = "engine gone: the record was cut off; what was measured is kept"
WORD_S = 5.0
"""How long the screen's own word stays."""
MOST_MESSAGES = 20


class Foot:
    """What is asked and said at the bottom, and what can be pressed."""

    def __init__(self, feed: Feed, symbols: Symbols, clock: Clock) -> None:
        self.question: Question | None = None
        """What waits for an answer."""
        self._feed = feed
        self._symbols = symbols
        self._clock = clock
        self._word, self._until_s = "", 0.0

    def say(self, word: str) -> None:
        """Have a word stand there for a while."""
        self._word, self._until_s = clean(word), self._clock() + WORD_S

    def log(self) -> Log:
        """The newest messages, and below them what needs the eye most."""
        messages = tuple(self._feed.session.messages[-MOST_MESSAGES:])
        if self.question is not None:
            return Log(messages, QUESTIONS[self.question], "bright")
        if self._feed.problem is not None:
            return Log(messages, clean(self._feed.problem), "bad")
        if self._feed.cut_off:
            return Log(messages, CUT_OFF, "bad")
        return Log(messages, self._word if self._clock() < self._until_s else self.waiting())

    def keys(self, frozen: bool) -> Keys:
        """The keys of the moment, at most seven."""
        if self.question is not None:
            return ANSWERS[self.question]
        rows = (self._symbols.arrows, "cases")
        always = (("enter", "detail"), ("t", "theme"))
        if self._feed.running:
            freeze = ("space", "go on" if frozen else "freeze")
            return (("q", "quit"), ("?", "help"), ("x", "skip case"), freeze, rows, *always)
        return (("q", "quit"), ("?", "help"), rows, *always, ("R", "replay"), ("ctrl+p", "commands"))

    def waiting(self) -> str:
        """What the screen waits for."""
        if self._feed.session.started is None:
            return "starting engine" if self._feed.running else "reading the session"
        return "" if self._feed.caught_up else "reading on"

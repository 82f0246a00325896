"""The lines at the bottom in which a screen says what came of something, asks, and has the reader type."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textual import on
from textual import work as run_aside
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.message_line import Log, log_lines
from benchtui.tui.widgets.panel import Panel


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What came of a work."""

    word: str
    session: Path | None = None
    """The session to choose now."""
    engine: Engine | None = None
    """The engine that is at work on it since."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A work that waits for its key to be pressed once more."""

    key: str
    text: str
    does: str
    """What the key does, in a word or two."""
    work: "Work"

    @property
    def keys(self) -> Keys:
        """What can be pressed."""
        return ((self.key, self.does), ("esc", "keep"))


Work = Callable[[], ActionResult | Prompt]
"""Runs in a thread; raises BenchtuiError where it fails."""


class ActionBar(Vertical):
    """A word, a question or a field to type in; does what takes time in a thread and tells of its end."""

    class Typed(Message):
        """The text in the field has changed."""

        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text

    class Given(Typed):
        """The text in the field is what the reader wants."""

    class Finished(Message):
        """A work has come to its end."""

        def __init__(self, done: ActionResult) -> None:
            super().__init__()
            self.done = done

    class Changed(Message):
        """What can be pressed has changed: something is asked, or isn't any more."""

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._symbols = symbols
        self.purpose = ""
        """What the field is for; empty while it is hidden."""
        self.question: Prompt | None = None

    def compose(self) -> ComposeResult:
        """The words, and in their place the field while something is typed."""
        yield Panel[Log](log_lines, self._symbols, id="log")
        with Horizontal(id="typing"):
            yield Panel[str](_word, self._symbols, id="asked")
            field = Input(compact=True, select_on_focus=False, id="field")
            field.cursor_blink = False
            yield field

    @property
    def keys(self) -> Keys | None:
        """What can be pressed while something is asked; None while nothing is."""
        if self.question is not None:
            return self.question.keys
        return (("enter", "done"), ("esc", "back")) if self.purpose else None

    def say(self, word: str = "", role: str = "warning") -> None:
        """Have a word stand there, or none; what was asked is forgotten."""
        self.question = None
        self.query_one("#log", Panel).show(Log(word=clean(word), role=role))
        self.post_message(self.Changed())

    def ask(self, purpose: str, word: str, text: str = "") -> None:
        """Have the reader type, beginning with a text."""
        self.say()
        self.purpose = purpose
        self.add_class("-typing")
        asked, field = self.query_one("#asked", Panel), self.query_one("#field", Input)
        asked.styles.width = len(word) + 1
        asked.show(word)
        with field.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        field.focus()

    def close(self) -> None:
        """Hide the field; what was typed is gone."""
        self.purpose = ""
        self.remove_class("-typing")
        self.screen.set_focus(None)
        self.say()

    def answers(self, key: str) -> bool:
        """Whether a question waited for this key; its work is then under way."""
        question = self.question
        if question is None or question.key != key:
            return False
        self.do(question.work)
        return True

    def do(self, work: Work) -> None:
        """Begin a work; its end is told by a message, or leaves a question or a word."""
        self.say("a moment", "muted")
        self._wait_for(work)

    def put(self, question: Prompt) -> None:
        """Ask whether to do something."""
        self.say(question.text, "bright")
        self.question = question

    @run_aside
    async def _wait_for(self, work: Work) -> None:
        try:
            done = await asyncio.to_thread(work)
        except BenchtuiError as error:
            self.say(str(error))
            return
        if isinstance(done, Prompt):
            self.put(done)
        else:
            self.say(done.word, "plain")
            self.post_message(self.Finished(done))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.purpose:
            self.post_message(self.Typed(self.purpose, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        purpose = self.purpose
        if purpose:
            self.close()
            self.post_message(self.Given(purpose, event.value))


def _word(word: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [line((word, "strong"))]

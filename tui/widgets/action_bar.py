"""Action bar at the bottom of a screen: messages, questions and text input."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from textual import on
from textual import work as textual_work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from benchtui.sessions.errors import BenchtuiError
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.shell.key_queue import HOLDS_KEYS
from benchtui.tui.widgets.completion import Completer
from benchtui.tui.widgets.input_field import TextInput
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.message_line import Log, log_lines
from benchtui.tui.widgets.panel import Panel


class ActionResult(msgspec.Struct, frozen=True):
    """Result of an action."""

    word: str
    session: Path | None = None
    """Session to select next."""


class Confirmation(msgspec.Struct, frozen=True):
    """Action that waits for its key to be pressed again."""

    key: str
    text: str
    does: str
    """Effect of the key, in one or two words."""
    work: "Work"

    @property
    def keys(self) -> Keys:
        """Keys that can be pressed, and what each does."""
        return ((self.key, self.does), ("esc", "keep"))


Outcome = ActionResult | Confirmation

Work = Callable[[], Outcome]
"""Action run in a thread; raises BenchtuiError on failure."""


class ActionBar(Vertical):
    """Show a message, a question or an input field, and run slow actions in a thread."""

    DEFAULT_CSS = """
    ActionBar { height: 2; margin: 0 1; }
    ActionBar #log { height: 2; }
    ActionBar #typing { display: none; height: 1; margin: 1 0 0 0; }
    ActionBar.-typing #log { display: none; }
    ActionBar.-typing #typing { display: block; }
    ActionBar.-refused #typing { margin: 0; }
    ActionBar.-refused #log { display: block; height: 1; }
    ActionBar #asked { height: 1; }
    ActionBar #field { width: 1fr; background: $cursor; color: $bright; }
    """

    @dataclass
    class Typed(Message):
        """Posted when the text in the input field changes."""

        purpose: str
        text: str

    @dataclass
    class Given(Typed):
        """Posted when the text in the input field is submitted."""

        label: str
        """Label of the field. ``run`` reopens the field with it if the text is refused."""

    @dataclass
    class Finished(Message):
        """Posted when an action has finished."""

        done: ActionResult

    class Changed(Message):
        """Posted when the available keys change, because a question opens or closes."""

    def __init__(self, symbols: Symbols) -> None:
        super().__init__(id="actions")
        self._symbols = symbols
        self.purpose = ""
        """Purpose of the input field; empty while it is hidden."""
        self._label = ""
        self.question: Confirmation | None = None

    def compose(self) -> ComposeResult:
        """Create the message panel, and the input field that replaces it."""
        with Horizontal(id="typing"):
            yield Panel(_word, self._symbols, id="asked")
            yield TextInput(id="field")
        yield Panel(log_lines, self._symbols, id="log")

    @property
    def keys(self) -> Keys | None:
        """Keys that answer the open question or input field; None if nothing is open."""
        if self.question is not None:
            return self.question.keys
        return (("enter", "done"), ("esc", "back")) if self.purpose else None

    def show_message(self, word: str = "", role: str = "warning") -> None:
        """Show or clear the message, and discard the open question."""
        self.question = None
        self.query_one("#log", Panel).show(Log(word=clean(word), role=role))
        self.post_message(self.Changed())

    def ask(self, purpose: str, word: str, text: str = "", completer: Completer | None = None) -> None:
        """Open the input field with a label and an initial text."""
        self.show_message()
        self.query_one("#field", TextInput).completer = completer
        self.purpose, self._label = purpose, word
        self.add_class("-typing").remove_class("-refused")
        asked, field = self.query_one("#asked", Panel), self.query_one("#field", Input)
        asked.styles.width = len(word) + 1
        asked.show(word)
        with field.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        field.focus()

    def close(self) -> None:
        """Hide the input field and discard its text."""
        self.purpose = ""
        self.remove_class("-typing", "-refused")
        self.screen.set_focus(None)
        self.show_message()

    def run_confirmed(self, key: str) -> bool:
        """Run the pending action if this is its key. Return whether it was."""
        question = self.question
        if question is None or question.key != key:
            return False
        self.run(question.work)
        return True

    def run(self, work: Work, given: Given | None = None) -> None:
        """Start an action. It ends with ``Finished``, a question or an error message.

        If it fails on a text that was ``given``, the input field opens again, above the error.
        """
        self.show_message("working", "muted")
        self._run_in_thread(work, given)

    def confirm(self, question: Confirmation) -> None:
        """Show a question and wait for its key."""
        self.show_message(question.text, "bright")
        self.question = question

    @textual_work(name=HOLDS_KEYS)
    async def _run_in_thread(self, work: Work, given: Given | None) -> None:
        try:
            done = await asyncio.to_thread(work)
        except BenchtuiError as error:
            if given is not None:
                self.ask(given.purpose, given.label, given.text, self.query_one("#field", TextInput).completer)
                self.add_class("-refused")
            self.show_message(str(error))
            return
        if isinstance(done, Confirmation):
            self.confirm(done)
        else:
            self.show_message(done.word, "plain")
            self.post_message(self.Finished(done))

    @on(TextInput.Completed)
    def _show_options(self, event: TextInput.Completed) -> None:
        """Show above the input field how its text may continue."""
        event.stop()
        self.set_class(bool(event.options), "-refused")
        self.show_message("  ".join(event.options), "muted")

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
            self.post_message(self.Given(purpose, event.value, self._label))


def _word(word: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [line((word, "strong"))]

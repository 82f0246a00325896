"""Borderless text inputs: an overlay at any position, and one in the layout."""

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from benchtui.sessions.sanitize import replace_unprintable
from benchtui.tui.widgets.completion import Completer


class TextInput(Input):
    """Input whose text, such as the suggested name of a file, can't control the terminal.

    With a ``completer``, tab completes the text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", show=False)]
    completer: Completer | None = None

    @dataclass
    class Completed(Message):
        """Posted after tab, with the possible continuations if there are several."""

        options: tuple[str, ...]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave tab to the screen if there is nothing to complete."""
        return self.completer is not None if action == "complete" else super().check_action(action, parameters)

    def action_complete(self) -> None:
        """Complete the text."""
        if self.completer is not None:
            completion = self.completer(self.value)
            self.value = completion.text
            self.cursor_position = len(completion.text)
            self.post_message(self.Completed(completion.options))

    def validate_value(self, value: str) -> str:
        """Replace each unprintable character by one that is printable, so that the cursor keeps its place."""
        return replace_unprintable(value)


class Field(TextInput):
    """Borderless input placed over other content."""

    DEFAULT_CSS = """
    Field, Field:focus {
        layer: above; position: absolute; display: none; height: 1; border: none; padding: 0;
        background: $cursor; color: $bright;
    }
    Field.-open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(id="field", compact=True)
        self.cursor_blink = False

    def place(self, column: int, line: int, width: int) -> None:
        """Move to a position on the screen and set the width in cells."""
        self.styles.offset = (column, line)
        self.styles.width = width

    def open(self, text: str, completer: Completer | None = None) -> None:
        """Show the text, fully selected, and take the focus."""
        self.completer = completer
        with self.prevent(Input.Changed):
            self.value = text
        self.add_class("-open")
        self.focus()

    def close(self) -> None:
        """Hide the input and release the focus."""
        self.remove_class("-open")
        self.screen.set_focus(None)


class LineInput(TextInput):
    """Borderless input. Going back is left to the screen."""

    DEFAULT_CSS = """
    LineInput, LineInput:focus { height: 1; border: none; padding: 0; margin: 0 1; background: $background; }
    """

    def __init__(self, value: str) -> None:
        super().__init__(value, compact=True, select_on_focus=False)
        self.cursor_blink = False

"""Text inputs: of a prompt, one that filters a page, and an overlay at any position."""

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

    DEFAULT_CSS = """
    TextInput, TextInput:focus { height: 1; border: none; padding: 0; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", show=False)]
    completer: Completer | None = None

    @dataclass
    class Completed(Message):
        """Posted after tab, with the possible continuations if there are several."""

        options: tuple[str, ...]

    def __init__(self, value: str = "", placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(value, placeholder, id=id, compact=True, select_on_focus=False)
        self.cursor_blink = False  # costs bytes on slow links

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
        layer: above; position: absolute; display: none; background: $cursor; color: $bright;
    }
    Field.-open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(id="field")
        self.select_on_focus = True

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


class FilterInput(TextInput):
    """Input that filters a page, hidden until it is asked for."""

    DEFAULT_CSS = """
    FilterInput { display: none; margin: 0 1; }
    FilterInput.-asked { display: block; }
    """

    def ask(self) -> None:
        """Show the input, and focus it."""
        self.add_class("-asked").focus()

    def hide(self) -> None:
        """Hide the input, and keep its words."""
        self.remove_class("-asked")
        self.screen.set_focus(None)

    def reset(self) -> bool:
        """Clear the words, and hide the input. Return whether there was either."""
        asked = bool(self.value) or self.has_class("-asked")
        self.value = ""
        self.hide()
        return asked

"""The one line into which a reader types."""

from textual.widgets import Input


class Prompt(Input):
    """An input without a frame; going back is left to the screen."""

    DEFAULT_CSS = """
    Prompt, Prompt:focus { height: 1; border: none; padding: 0; margin: 0 1; background: $background; }
    """

    def __init__(self, value: str) -> None:
        super().__init__(value, compact=True, select_on_focus=False)
        self.cursor_blink = False

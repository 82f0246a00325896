"""Title bar of the editor: the edited sweep, and running engines, which it polls."""

import asyncio
from typing import TYPE_CHECKING

from textual import work

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, Span, justify, width_of
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.keymap import key
from benchtui.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from benchtui.tui.editor.draft import Draft


def running_texts(running: tuple[str, ...]) -> tuple[str, ...]:
    """Return what is running on this machine and the key that shows it, in full and in few words."""
    if not running:
        return ("",)
    which, newest = key("app.monitor"), "it" if len(running) == 1 else "the newest"
    name = f"{running[0]} is" if len(running) == 1 else f"{len(running)} sweeps are"
    count = "a sweep is" if len(running) == 1 else name
    return (
        f"{name} running on this machine: {which} opens {newest}",
        f"{count} running on this machine: {which}",
        f"{count} running: {which}",
    )


POLL_S = 3.0
"""Seconds between checks for running engines."""


class TitleBar(Panel[()]):
    """Title bar that shows the edited sweep and polls for running engines."""

    def __init__(self, app_context: AppContext, symbols: Symbols, *, id: str | None = None) -> None:
        super().__init__(self._title, symbols, id=id)
        self._app_context = app_context
        self._draft: Draft | None = None
        self._names: tuple[str, ...] = ()
        """Sessions that engines on this machine are running."""

    def on_mount(self) -> None:
        """Check for engines now and periodically."""
        self.check_engines()
        self.set_interval(POLL_S, self.check_engines)

    def show_draft(self, draft: "Draft") -> None:
        """Show the current sweep."""
        self._draft = draft
        self.show()

    def check_engines(self) -> None:
        """Check for running engines, unless another screen is shown."""
        if self.screen.is_current:
            self._poll()

    @work(exclusive=True)
    async def _poll(self) -> None:
        engines = await asyncio.to_thread(self._app_context.engines)
        self._names = tuple(clean(self._app_context.name_of(engine.path)) for engine in engines)
        self.show()

    def _title(self, width: int, height: int, symbols: Symbols) -> list[Line]:
        """Render the sweep on the left; on the right, running sessions and how to watch them."""
        left: list[Span] = []
        if self._draft:
            state = self._draft.state
            left = [(f" {clean(state.sweep.name)}", "strong"), (f"  {clean(state.origin.title)}", "muted")]
            left += [(f" {symbols.dot} ", "muted"), ("not saved", "warning")] if self._draft.changed else []
        forms = running_texts(self._names)
        right = next((form for form in forms if width_of(left) + len(form) + 2 <= width), forms[-1])
        return [justify(left, [(right, "muted"), (" ", "plain")] if right else [], width, symbols)]

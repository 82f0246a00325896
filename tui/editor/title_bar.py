"""The line above the editor, which looks by itself which engines run."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from textual import work

from benchtui.sessions.errors import BenchtuiError
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, justify
from benchtui.tui.editor.draft import Draft
from benchtui.tui.shell.context import AppContext
from benchtui.tui.widgets.panel import Panel


@dataclass(frozen=True, slots=True)
class Title:
    """What the line above the editor says."""

    name: str
    origin: str
    """The preset, file or session that it came from."""
    changed: bool
    """Whether changes are neither saved nor started."""
    running: tuple[str, ...] = ()
    """The sessions that engines of this machine are at work on."""


def title_lines(title: Title, width: int, height: int, symbols: Symbols) -> list[Line]:
    """The sweep at the left; at the right what runs, and how to watch it."""
    left = [(f" {title.name}", "strong"), (f"  {title.origin}", "muted")]
    if title.changed:
        left += [(f" {symbols.dot} ", "muted"), ("not saved", "warning")]
    right = [(running_text(title.running), "accent"), (" ", "plain")] if title.running else []
    return [justify(left, right, width, symbols)]


def running_text(running: tuple[str, ...]) -> str:
    """What runs on this machine, and the key that shows it."""
    if len(running) == 1:
        return f"{running[0]} runs on this machine: 2 watches it"
    return f"{len(running)} sweeps run on this machine: 2 watches the newest"


LOOK_S = 3.0
"""How often to look."""


class TitleBar(Panel[Title]):
    """Tells which sweep is edited, and what runs meanwhile."""

    def __init__(self, app_context: AppContext, symbols: Symbols, *, id: str | None = None) -> None:
        super().__init__(title_lines, symbols, id=id)
        self._app_context = app_context
        self._title = Title("", "", changed=False)

    def on_mount(self) -> None:
        """Look now, and again and again."""
        self.look()
        self.set_interval(LOOK_S, self.look)

    def tell(self, draft: Draft) -> None:
        """Show the sweep as it stands."""
        state, running = draft.state, self._title.running
        self._title = Title(clean(state.sweep.name), clean(state.origin.title), draft.changed, running)
        self.show(self._title)

    def look(self) -> None:
        """Look which engines run, unless another place is shown."""
        if self.screen.is_current:
            self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        with suppress(BenchtuiError):  # where none can be reached, none is shown
            engines = await asyncio.to_thread(self._app_context.running)
            running = tuple(clean(self._app_context.name_of(engine.path)) for engine in engines)
            self._title = Title(self._title.name, self._title.origin, self._title.changed, running)
            self.show(self._title)

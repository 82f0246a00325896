"""The line above the editor, which looks by itself which engines run."""

import asyncio
from contextlib import suppress

from textual import work

from benchtui.sessions.errors import BenchtuiError
from benchtui.themes import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.editor.draft import Draft
from benchtui.tui.editor.title import Title, title_lines
from benchtui.tui.shell.context import Surroundings
from benchtui.tui.widgets.panel import Panel

LOOK_S = 3.0
"""How often to look."""


class TitleBar(Panel[Title]):
    """Tells which sweep is edited, and what runs meanwhile."""

    def __init__(self, surroundings: Surroundings, symbols: Symbols, *, id: str | None = None) -> None:
        super().__init__(title_lines, symbols, id=id)
        self._surroundings = surroundings
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
            engines = await asyncio.to_thread(self._surroundings.running)
            running = tuple(clean(self._surroundings.name_of(engine.path)) for engine in engines)
            self._title = Title(self._title.name, self._title.origin, self._title.changed, running)
            self.show(self._title)

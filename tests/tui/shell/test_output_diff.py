"""Output diff between Textual and the terminal, checked on a terminal emulator."""

from typing import Any

import pyte
from rich.console import Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region, Size
from textual.strip import Strip

from benchtui.tui.shell.output_diff import ChangedCells, NewLines, TerminalContent

CONSOLE = Console(force_terminal=True, color_system=None)


def strip(text: str) -> Strip:
    return Strip([Segment(text)])


def written(painted: TerminalContent, *lines: str) -> str:
    """Return what a full-screen update writes."""
    update = painted.without_unchanged(
        LayoutUpdate([[strip(text)] for text in lines], Region(0, 0, 12, len(lines)))
    )
    assert isinstance(update, NewLines)
    return update.render_segments(CONSOLE)


def test_resize_and_terminal_resume_rewrite_everything() -> None:
    painted = TerminalContent()
    painted.resized(Size(12, 1))
    written(painted, "one")
    painted.resized(Size(12, 1))
    assert written(painted, "one") == ""
    painted.resized(Size(11, 1))
    painted.resized(Size(12, 1))
    assert "one" in written(painted, "one")
    painted.forget()
    assert "one" in written(painted, "one")


def test_unknown_updates_pass_through_and_clear_the_tracked_content() -> None:
    painted = TerminalContent()
    strange = ChopsUpdate([], [], [])
    written(painted, "one")
    assert painted.without_unchanged(None) is None
    assert written(painted, "one") == ""
    assert painted.without_unchanged(strange) is strange
    assert "one" in written(painted, "one")


class Emulator:
    """Terminal that shows the updates of an app."""

    def __init__(self, app: Any) -> None:
        self._screen = pyte.Screen(*app.size)
        self._stream = pyte.Stream(self._screen)
        self.updates: list[Any] = []
        self._display, app._display = app._display, self._show

    def _show(self, screen: Any, update: Any) -> None:
        if update is not None:
            self.updates.append(update)
            self._stream.feed(update.render_segments(CONSOLE))
        self._display(screen, update)

    @property
    def text(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]


async def test_partial_updates_add_up_to_the_whole_screen(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4), iterations=400).case(0, 10.0, 120).start(1).prepare(1)
    async with opened(story.path, engine) as seen:
        shown = Emulator(seen.app)
        seen.app.screen.refresh()
        await seen.settle()
        for turn in range(6):
            story.steps(1, [10.0 + turn + n % 7 for n in range(40)]).telemetry(gpus=2).wait(1.0)
            await seen.settle()
            assert shown.text == seen.text.split("\n")
        await seen.settle("slash", "4", "enter", "question_mark", "escape", "e", "down")
        assert shown.text == seen.text.split("\n")
        assert sum(type(update) is ChangedCells for update in shown.updates) > 6


async def test_installed_textual_produces_the_expected_updates(story: Any, opened: Any) -> None:
    story.begin()
    painted = TerminalContent()
    async with opened(story.path) as seen:
        compositor = seen.app.screen._compositor
        whole = painted.without_unchanged(compositor.render_update(full=True))
        seen.app.screen.query_one("#keys").refresh()
        compositor.update_widgets({seen.app.screen.query_one("#keys")})
        part = painted.without_unchanged(compositor.render_update())
    assert (type(whole), type(part)) == (NewLines, ChangedCells)

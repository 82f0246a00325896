"""Output diff between Textual and the terminal, checked on a terminal emulator."""

from typing import Any

import pyte
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
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


def test_lines_already_shown_are_not_rewritten() -> None:
    painted = TerminalContent()
    assert "one" in written(painted, "one", "two")
    assert written(painted, "one", "two") == ""
    again = written(painted, "one", "new")
    assert "new" in again and "one" not in again


def cells(painted: TerminalContent, y: int, left: int, text: str) -> str:
    """Return what an update of some cells writes on a screen with two lines."""
    update = painted.without_unchanged(ChangedCells([(y, left, strip(text))]))
    assert isinstance(update, ChangedCells)
    return update.render_segments(CONSOLE)


def test_cells_written_over_a_line_are_tracked() -> None:
    painted = TerminalContent()
    assert "three" in cells(painted, 1, 4, "three")
    written(painted, "one two three")
    assert "2 t" in cells(painted, 0, 4, "2 t")
    assert written(painted, "one 2 t three") == ""
    assert "one two three" in written(painted, "one two three")


def test_large_update_skips_cells_already_shown() -> None:
    painted = TerminalContent()
    painted.resized(Size(12, 1))
    written(painted, "one two four")
    assert cells(painted, 0, 0, "one two") == ""
    assert "ONE two" in cells(painted, 0, 0, "ONE two")
    assert "two" in cells(painted, 0, 4, "two")


def test_line_with_too_many_writes_becomes_unknown() -> None:
    painted = TerminalContent()
    written(painted, "one", "two")
    for digit in "123456789":
        cells(painted, 0, 0, digit)
    again = written(painted, "9ne", "two")
    assert "9ne" in again and "two" not in again


def test_cells_with_another_style_are_written() -> None:
    painted = TerminalContent()
    written(painted, "one")
    bold = painted.without_unchanged(
        LayoutUpdate([[Strip([Segment("one", Style(bold=True))])]], Region(0, 0, 12, 1))
    )
    assert isinstance(bold, NewLines) and "one" in bold.render_segments(CONSOLE)
    assert "one" in written(painted, "one")


def test_update_that_is_never_rendered_changes_no_tracked_line() -> None:
    painted = TerminalContent()
    painted.without_unchanged(LayoutUpdate([[strip("one")]], Region(0, 0, 12, 1)))
    assert "one" in written(painted, "one")


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


async def test_only_changed_cells_are_rendered_and_written(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        shown, keys = Emulator(seen.app), seen.app.screen.query_one("#keys")
        compositor, rendered = seen.app.screen._compositor, []
        keys.refresh(Region(3, 0, 4, 1))
        for widget in compositor.visible_widgets:
            widget.render_lines = lambda crop, widget=widget: (
                rendered.append((widget.id, crop.height)) or type(widget).render_lines(widget, crop)
            )
        await seen.pilot.pause()
        assert rendered == [("keys", 1)]
        (part,) = shown.updates[-1].parts
        assert (part[:2], part[2].text) == ((39, 3), "skip")


async def test_changed_cells_of_several_widgets_are_those_in_front(story: Any, opened: Any) -> None:
    story.begin()
    async with opened(story.path) as seen:
        compositor = seen.app.screen._compositor
        whole = [strip.text for strip in compositor.render_strips()]
        for y in (0, 2, 20, 39):
            compositor._dirty_regions = {Region(1, y, 117, 1)}
            update = compositor.render_partial_update()
            assert "".join(part.text for _, _, part in update.parts) == whole[y][1:118]
            assert [left for _, left, _ in update.parts] == sorted(left for _, left, _ in update.parts)
        assert compositor.render_partial_update() is None


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

"""The seam to Textual's output, on a terminal emulator."""

from typing import Any

import pyte
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region, Size
from textual.strip import Strip

from benchtui.tui.shell.output_diff import NewCells, NewLines, TerminalContent

CONSOLE = Console(force_terminal=True, color_system=None)


def strip(text: str) -> Strip:
    return Strip([Segment(text)])


def painted(update: NewCells) -> tuple[list[str], str]:
    """The screen after an update over dots, and what was written."""
    screen = pyte.Screen(12, 2)
    stream = pyte.Stream(screen)
    stream.feed("............\r\n............")
    written = update.render_segments(CONSOLE)
    stream.feed(written)
    return list(screen.display), written


def crop(chops: Any, spans: Any, ends: Any) -> NewCells:
    return NewCells(ChopsUpdate(chops, spans, ends), TerminalContent())


def written(painted: TerminalContent, *lines: str) -> str:
    """What a paint of the whole screen writes."""
    update = painted.less(LayoutUpdate([[strip(text)] for text in lines], Region(0, 0, 12, len(lines))))
    assert isinstance(update, NewLines)
    return update.render_segments(CONSOLE)


def test_only_the_changed_cells_are_written() -> None:
    chops = [{0: strip("abcdef"), 6: strip("ghijkl")}, {0: strip("mnopqrstuvwx")}]
    ends = [[6, 12], [12]]
    display, written = painted(crop(chops, [(0, 4, 8), (1, 10, 11)], ends))
    assert display == ["....efgh....", "..........w."]
    assert not set("abcdijklmnopqrstuvx") & set(written.replace("\x1b", "").replace("H", ""))


def test_half_of_a_wide_character_is_not_written_beyond_the_span() -> None:
    display, _ = painted(crop([{0: strip("ab模cdefghij")}, {}], [(0, 4, 6)], [[12], []]))
    assert display[0] == "....cd......"


def test_lines_that_stand_there_already_are_not_written_again() -> None:
    painted = TerminalContent()
    assert "one" in written(painted, "one", "two")
    assert written(painted, "one", "two") == ""
    again = written(painted, "one", "new")
    assert "new" in again and "one" not in again


def cells(painted: TerminalContent, y: int, left: int, text: str) -> str:
    """What a paint of some cells of a screen with two lines writes."""
    chops: Any = [{}, {}]
    chops[y] = {left: strip(text)}
    update = painted.less(ChopsUpdate(chops, [(y, left, left + len(text))], [[left + len(text)]] * 2))
    assert isinstance(update, NewCells)
    return update.render_segments(CONSOLE)


def test_cells_over_a_line_are_known_too() -> None:
    painted = TerminalContent()
    assert "three" in cells(painted, 1, 4, "three")
    written(painted, "one two three")
    assert "2 t" in cells(painted, 0, 4, "2 t")
    assert written(painted, "one 2 t three") == ""
    assert "one two three" in written(painted, "one two three")


def test_a_paint_of_most_of_the_screen_writes_no_cells_that_stand_there() -> None:
    painted = TerminalContent()
    painted.resized(Size(12, 1))
    written(painted, "one two four")
    assert cells(painted, 0, 0, "one two") == ""
    assert "ONE two" in cells(painted, 0, 0, "ONE two")
    assert "two" in cells(painted, 0, 4, "two")


def test_a_line_written_over_and_over_is_no_longer_known() -> None:
    painted = TerminalContent()
    written(painted, "one", "two")
    for digit in "123456789":
        cells(painted, 0, 0, digit)
    again = written(painted, "9ne", "two")
    assert "9ne" in again and "two" not in again


def test_cells_in_another_style_are_written() -> None:
    painted = TerminalContent()
    written(painted, "one")
    bold = painted.less(LayoutUpdate([[Strip([Segment("one", Style(bold=True))])]], Region(0, 0, 12, 1)))
    assert isinstance(bold, NewLines) and "one" in bold.render_segments(CONSOLE)
    assert "one" in written(painted, "one")


def test_an_update_that_was_never_written_leaves_the_lines_as_they_were() -> None:
    painted = TerminalContent()
    painted.less(LayoutUpdate([[strip("one")]], Region(0, 0, 12, 1)))
    assert "one" in written(painted, "one")


def test_another_size_and_a_terminal_taken_over_have_all_written_again() -> None:
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


def test_updates_of_another_make_pass_as_they_are_and_leave_nothing_known() -> None:
    painted = TerminalContent()
    strange = ChopsUpdate([], [], [])
    strange.more = 1  # type: ignore[attr-defined]
    written(painted, "one")
    assert painted.less(None) is None
    assert written(painted, "one") == ""
    assert painted.less(strange) is strange
    assert "one" in written(painted, "one")


async def test_the_installed_textual_is_one_that_this_works_with(story: Any, opened: Any) -> None:
    story.begin()
    painted = TerminalContent()
    async with opened(story.path) as seen:
        compositor = seen.app.screen._compositor
        whole = painted.less(compositor.render_update(full=True))
        seen.app.screen.query_one("#keys").refresh()
        compositor.update_widgets({seen.app.screen.query_one("#keys")})
        part = painted.less(compositor.render_update())
    assert (type(whole), type(part)) == (NewLines, NewCells)

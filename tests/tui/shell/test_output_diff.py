"""Output diff between Textual and the terminal, checked on a terminal emulator."""

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
    """Return the screen after an update over dots, and the text written."""
    screen = pyte.Screen(12, 2)
    stream = pyte.Stream(screen)
    stream.feed("............\r\n............")
    written = update.render_segments(CONSOLE)
    stream.feed(written)
    return list(screen.display), written


def crop(chops: Any, spans: Any, ends: Any) -> NewCells:
    return NewCells(ChopsUpdate(chops, spans, ends), TerminalContent())


def written(painted: TerminalContent, *lines: str) -> str:
    """Return what a full-screen update writes."""
    update = painted.without_unchanged(
        LayoutUpdate([[strip(text)] for text in lines], Region(0, 0, 12, len(lines)))
    )
    assert isinstance(update, NewLines)
    return update.render_segments(CONSOLE)


def test_only_changed_cells_are_written() -> None:
    chops = [{0: strip("abcdef"), 6: strip("ghijkl")}, {0: strip("mnopqrstuvwx")}]
    ends = [[6, 12], [12]]
    display, written = painted(crop(chops, [(0, 4, 8), (1, 10, 11)], ends))
    assert display == ["....efgh....", "..........w."]
    assert not set("abcdijklmnopqrstuvx") & set(written.replace("\x1b", "").replace("H", ""))


def test_wide_character_at_the_span_end_is_not_half_written() -> None:
    display, _ = painted(crop([{0: strip("ab模cdefghij")}, {}], [(0, 4, 6)], [[12], []]))
    assert display[0] == "....cd......"


def test_lines_already_shown_are_not_rewritten() -> None:
    painted = TerminalContent()
    assert "one" in written(painted, "one", "two")
    assert written(painted, "one", "two") == ""
    again = written(painted, "one", "new")
    assert "new" in again and "one" not in again


def cells(painted: TerminalContent, y: int, left: int, text: str) -> str:
    """Return what an update of some cells writes on a screen with two lines."""
    chops: Any = [{}, {}]
    chops[y] = {left: strip(text)}
    update = painted.without_unchanged(
        ChopsUpdate(chops, [(y, left, left + len(text))], [[left + len(text)]] * 2)
    )
    assert isinstance(update, NewCells)
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
    strange.more = 1  # type: ignore[attr-defined]
    written(painted, "one")
    assert painted.without_unchanged(None) is None
    assert written(painted, "one") == ""
    assert painted.without_unchanged(strange) is strange
    assert "one" in written(painted, "one")


async def test_installed_textual_produces_the_expected_updates(story: Any, opened: Any) -> None:
    story.begin()
    painted = TerminalContent()
    async with opened(story.path) as seen:
        compositor = seen.app.screen._compositor
        whole = painted.without_unchanged(compositor.render_update(full=True))
        seen.app.screen.query_one("#keys").refresh()
        compositor.update_widgets({seen.app.screen.query_one("#keys")})
        part = painted.without_unchanged(compositor.render_update())
    assert (type(whole), type(part)) == (NewLines, NewCells)

"""The seam to Textual's output, on a terminal emulator."""

from typing import Any

import pyte
from rich.console import Console
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.strip import Strip

from benchtui.tui.painting import CroppedUpdate, cropped


def strip(text: str) -> Strip:
    from rich.segment import Segment

    return Strip([Segment(text)])


def painted(update: CroppedUpdate) -> tuple[list[str], str]:
    """The screen after an update over dots, and what was written."""
    screen = pyte.Screen(12, 2)
    stream = pyte.Stream(screen)
    stream.feed("............\r\n............")
    written = update.render_segments(Console(force_terminal=True, color_system=None))
    stream.feed(written)
    return list(screen.display), written


def test_only_the_changed_cells_are_written() -> None:
    chops = [{0: strip("abcdef"), 6: strip("ghijkl")}, {0: strip("mnopqrstuvwx")}]
    ends = [[6, 12], [12]]
    display, written = painted(CroppedUpdate(chops, [(0, 4, 8), (1, 10, 11)], ends))
    assert display == ["....efgh....", "..........w."]
    assert not set("abcdijklmnopqrstuvx") & set(written.replace("\x1b", "").replace("H", ""))


def test_half_of_a_wide_character_is_not_written_beyond_the_span() -> None:
    display, _ = painted(CroppedUpdate([{0: strip("ab模cdefghij")}, {}], [(0, 4, 6)], [[12], []]))
    assert display[0] == "....cd......"


def test_updates_of_another_make_pass_as_they_are() -> None:
    whole: Any = LayoutUpdate([], None)  # type: ignore[arg-type]
    assert cropped(whole) is whole
    assert cropped(None) is None
    strange = ChopsUpdate([], [], [])
    strange.more = 1  # type: ignore[attr-defined]
    assert cropped(strange) is strange


async def test_the_installed_textual_is_one_that_this_works_with(story: Any, opened: Any) -> None:
    story.begin()
    seen_updates: list[type] = []
    async with opened(story.path) as seen:
        compositor = seen.app.screen._compositor
        seen.app.screen.query_one("#keys").refresh()
        compositor.update_widgets({seen.app.screen.query_one("#keys")})
        update = compositor.render_update()
        seen_updates.append(type(cropped(update)))
    assert seen_updates == [CroppedUpdate]

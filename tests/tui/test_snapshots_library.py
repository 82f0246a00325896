"""Snapshots of the library and a comparison."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pictured import until_unchanged

from benchtui.sessions.library import operations, paths
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import ComparisonRequested

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)])


@pytest.fixture
def shelf(home: Path, make_story: Any, app_context: AppContext, monkeypatch: pytest.MonkeyPatch) -> AppContext:
    """Set up a library of four sessions in a fixed folder."""
    for name, factor, ending in (
        ("before", 1.0, "completed"),
        ("after", 0.9, "completed"),
        ("night", 1.3, "interrupted"),
        ("lost", 1.0, None),
    ):
        story = make_story(paths.folder() / f"{name}.json").begin(name=name, batch_sizes=(1, 2, 4, 8))
        for case in range(4):
            if case == 3 and name == "after":
                story.start(case).finish(case, "oom", reason="CUDA out of memory")
            else:
                story.case(case, 10.0 * factor * (case + 1), 120, "random weights")
        if ending:
            story.end(ending)
        story.close()
    operations.write_note(paths.folder() / "after.json", "after the driver update")
    monkeypatch.setattr("benchtui.tui.library.card._file", lambda item: "/sessions/" + item.path.name)
    return replace(app_context, recorded=paths.entries)


@SIZES
def test_library_snapshot(shelf: AppContext, snap_compare: Any, size: tuple[int, int]) -> None:
    async def mark(pilot: Any) -> None:
        await pilot.press("4")
        await until_unchanged(pilot)
        await pilot.press("G", "space", "g", "space", "home")
        await until_unchanged(pilot)

    assert snap_compare(BenchtuiApp(shelf), terminal_size=size, run_before=mark)


@SIZES
def test_comparison_snapshot(shelf: AppContext, snap_compare: Any, size: tuple[int, int]) -> None:
    async def compare(pilot: Any) -> None:
        folder = paths.folder()
        pilot.app.post_message(ComparisonRequested((folder / "before.json", folder / "after.json")))
        await until_unchanged(pilot)

    assert snap_compare(BenchtuiApp(shelf), terminal_size=size, run_before=compare)

"""Snapshots of the editor in two sizes."""

from typing import Any

import pytest
from pictured import until_unchanged

from benchtui.tui.app import BenchtuiApp


async def edit(pilot: Any) -> None:
    """Open the editor, add a value, turn a case off, and type an invalid value."""
    await pilot.press("1", "j", "j", "j", "right", "space", "tab", "j", "space", "tab")
    await pilot.press("slash", *"timeout", "enter", "enter", *"soon")
    await until_unchanged(pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_editor_snapshot_while_typing(app_context: Any, snap_compare: Any, size: tuple[int, int]) -> None:
    assert snap_compare(BenchtuiApp(app_context), terminal_size=size, run_before=edit)

"""Snapshots of empty views, questions, text pages and sections of a case."""

from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.library import paths

LOOKS = pytest.mark.parametrize(
    ("theme", "size"), [("benchtui-dark", (80, 24)), ("benchtui-light", (120, 40))], ids=["small", "usual"]
)
VIEWS = {
    "sweep": ("sweep", ()),
    "cases": ("sweep", ("tab", "j", "space")),
    "leave changes": ("sweep", ("j", "j", "j", "l", "space", "q")),
    "help of the sweep": ("sweep", ("question_mark",)),
    "opener": ("open", ()),
    "no session": ("nothing", ()),
    "no comparison": ("sweep", ("5",)),
    "leave": ("monitor", ("q",)),
    "log": ("monitor", ("z", "shift+tab")),
    "table": ("monitor", ("z", "shift+tab", "shift+tab")),
    "steps": ("case", ("tab", "tab")),
    "telemetry": ("case", ("tab", "tab", "tab")),
    "machine": ("case", ("h", "h")),
    "error": ("case", ("N", "h")),
    "delete": ("library", ("X",)),
    "filter": ("library", ("slash", "x")),
    "differences": ("compare", ("d",)),
    "zoomed replay": ("replay", ("space", "z")),
    "help of a replay": ("replay", ("space", "question_mark")),
}


@pytest.fixture
def around(app_context: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set up a library in a folder with a fixed name."""
    monkeypatch.setattr("benchtui.tui.library.card._file", lambda item: "/sessions/" + item.path.name)
    return replace(app_context, recorded=paths.entries)


@LOOKS
@pytest.mark.parametrize("view", VIEWS)
def test_view_snapshot(stage: Any, around: Any, snap_compare: Any, theme: str, size: Any, view: str) -> None:
    place, keys = VIEWS[view]

    async def look(pilot: Any) -> None:
        await (await stage.enter(place, pilot)).settle(*keys)

    assert snap_compare(stage.app(place, around, theme=theme), terminal_size=size, run_before=look)


@LOOKS
def test_empty_library_snapshot(
    stage: Any, app_context: Any, snap_compare: Any, monkeypatch: pytest.MonkeyPatch, theme: str, size: Any
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/home/reader/.local/share")

    async def look(pilot: Any) -> None:
        await stage.enter("library", pilot)

    app = stage.app("library", app_context, theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=look)

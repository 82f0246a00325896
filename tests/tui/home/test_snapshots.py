"""Snapshots of Home with 0 to 16 GPUs and a cache of 1,000 models, in three sizes; zoomed; ASCII; no color."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from benchtui.tui.app import BenchtuiApp

SIZES = [(80, 24), (120, 40), (200, 50)]
EVERY_SIZE = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until everything has been read."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@pytest.fixture
def in_cache(thousand_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(thousand_models)
    monkeypatch.setenv("HF_HUB_CACHE", "hub")


@EVERY_SIZE
@pytest.mark.parametrize("machine", [0, 1, 8, 16], indirect=True)
def test_home_snapshot(
    in_cache: None, machine: Any, home_context: Any, snap_compare: Any, size: tuple[int, int]
) -> None:
    assert snap_compare(BenchtuiApp(home_context), terminal_size=size, run_before=settled)


@pytest.mark.parametrize("machine", [16], indirect=True)
def test_zoomed_machine_snapshot(in_cache: None, machine: Any, home_context: Any, snap_compare: Any) -> None:
    async def zoom(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("z")

    assert snap_compare(BenchtuiApp(home_context), terminal_size=(80, 24), run_before=zoom)


@pytest.mark.parametrize("machine", [4], indirect=True)
def test_ascii_snapshot(in_cache: None, machine: Any, home_context: Any, snap_compare: Any) -> None:
    app = BenchtuiApp(home_context, ascii_only=True)
    assert snap_compare(app, terminal_size=(80, 24), run_before=settled)


@pytest.mark.parametrize("machine", [4], indirect=True)
def test_snapshot_without_color(
    in_cache: None, machine: Any, home_context: Any, snap_compare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(BenchtuiApp(home_context), terminal_size=(80, 24), run_before=settled)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_snapshot_without_models(
    cache: Path, home_context: Any, snap_compare: Any, size: tuple[int, int]
) -> None:
    assert snap_compare(BenchtuiApp(home_context), terminal_size=size, run_before=settled)

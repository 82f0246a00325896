"""Snapshots of the Why page: one case, and two side by side."""

from typing import Any

import pytest
from explained import explained
from msgspec.structs import replace

from benchtui.tui.explain.screen import WhyScreen


@pytest.mark.parametrize("keys", [(), ("b",)], ids=["one", "two"])
@pytest.mark.parametrize(
    ("theme", "size"),
    [("benchtui-dark", (80, 24)), ("benchtui-light", (120, 40)), ("benchtui-dark", (200, 50))],
    ids=["small", "usual", "wide"],
)
def test_why_snapshot(
    story: Any, app_context: Any, clock: Any, snap_compare: Any, theme: str, size: Any, keys: Any
) -> None:
    from benchtui.tui.app import BenchtuiApp

    story.begin(gpus=0, device="cpu", batch_sizes=(4,), precision=("fp32", "bf16"), baseline=None)
    story.case(0, 28.5).case(1, 16.3)
    for event in (explained(0), explained(1, fast=True)):
        story._add(replace(event, t=story.t))
    story.end()
    app = BenchtuiApp(app_context, story.path, clock=clock, theme=theme)

    async def look(pilot: Any) -> None:
        await pilot.pause()
        app.screen.tick()
        await pilot.press("g", "W", *keys)
        await pilot.pause()
        assert isinstance(app.screen, WhyScreen)
        app.screen.draw()
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=look)

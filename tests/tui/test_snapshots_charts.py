"""Snapshots of the charts and the case screen in two sizes."""

from typing import Any

import pytest
from pictured import until_unchanged
from textual.pilot import Pilot

from benchtui.tui.app import BenchtuiApp

MAP_LINES_FRONT = [("3", "left"), ("3", "tab", "left"), ("3", "p", "down")]
SIZES = [(80, 24), (120, 40)]


def pressing(*keys: str) -> Any:
    async def press(pilot: Pilot[Any]) -> None:
        await pilot.press(*keys[:1])
        await until_unchanged(pilot)
        await pilot.press(*keys[1:])
        await until_unchanged(pilot)

    return press


@pytest.fixture
def app(story: Any, app_context: Any, clock: Any) -> BenchtuiApp:
    story.begin(batch_sizes=(1, 2, 4, 8), precision=("fp32", "fp16"), iterations=120)
    for number, config in enumerate(story.plan):
        if (config.batch_size, config.precision) == (8, "fp32"):
            story.start(number).finish(number, "oom", reason="CUDA out of memory")
        else:
            story.telemetry().case(
                number, (9.0 if config.precision == "fp32" else 4.0) + config.batch_size, 120
            )
    story.end()
    return BenchtuiApp(app_context, story.path, None, clock=clock)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", MAP_LINES_FRONT, ids=["map", "lines", "front"])
def test_charts_snapshot(
    app: BenchtuiApp, snap_compare: Any, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    assert snap_compare(app, terminal_size=size, run_before=pressing(*keys))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("section", [0, 1], ids=["summary", "distribution"])
def test_case_screen_snapshot(app: BenchtuiApp, snap_compare: Any, size: tuple[int, int], section: int) -> None:
    assert snap_compare(app, terminal_size=size, run_before=pressing("g", "enter", *["tab"] * section))

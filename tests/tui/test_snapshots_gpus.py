"""Snapshots of the Monitor on machines with 1 to 8 GPUs: sizes, themes, ASCII, no color, and a replay."""

from pathlib import Path
from typing import Any

import pytest

from benchtui import themes
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.replay.player import ReplayTarget, Start

SIZES = [(80, 24), (120, 40), (200, 50), (60, 15)]
IDLE = {"power_w": 72.0, "memory_used_mb": 600.0, "utilization_percent": 0.0, "temperature_c": 33.0}
LOADS: dict[int, dict[str, float | str]] = {
    1: {"power_w": 399.0, "memory_used_mb": 79_000.0, "temperature_c": 84.0},
    2: {"temperature_c": 93.0, "graphics_clock_mhz": 1100.0, "throttle": "hw_slowdown+hw_thermal"},
    3: {"memory_used_mb": 74_000.0},
    5: IDLE,
    6: IDLE,
}
"""Readings of the GPUs that the case doesn't run on: nearly full and hot, throttled, used by others, idle."""


def running(story: Any, gpus: int) -> Path:
    """Write a sweep in its fourth case, on the first of several GPUs in different states."""
    story.begin(batch_sizes=(1, 2, 4, 8, 16, 32), gpus=gpus, iterations=100)
    for case, step_ms in enumerate((10.0, 13.0, 21.0)):
        story.case(case, step_ms, 120, "random weights")
    story.start(3).prepare(3, "random weights").steps(3, [60.0, 41.0], "warmup")
    story.steps(3, [39.0 + step % 7 / 5 for step in range(60)])
    for _ in range(8):
        story.telemetry(gpus, differing=LOADS).t += 1.0
    path: Path = story.path
    return path


@pytest.mark.parametrize(
    ("gpus", "size"),
    [*((8, size) for size in SIZES), *zip((1, 2, 4), SIZES[:3], strict=True)],
    ids=lambda value: value if isinstance(value, int) else f"{value[0]}x{value[1]}",
)
def test_gauges_snapshot(
    story: Any, engine: Any, app_context: Any, clock: Any, snap_compare: Any, gpus: int, size: tuple[int, int]
) -> None:
    app = BenchtuiApp(app_context, running(story, gpus), engine, clock=clock)
    assert snap_compare(app, terminal_size=size)


@pytest.mark.parametrize("theme", themes.names())
def test_every_theme_snapshot(
    story: Any, engine: Any, app_context: Any, clock: Any, snap_compare: Any, theme: str
) -> None:
    app = BenchtuiApp(app_context, running(story, 4), engine, theme=theme, clock=clock)
    assert snap_compare(app, terminal_size=(120, 40))


def test_ascii_snapshot(story: Any, engine: Any, app_context: Any, clock: Any, snap_compare: Any) -> None:
    app = BenchtuiApp(app_context, running(story, 4), engine, ascii_only=True, clock=clock)
    assert snap_compare(app, terminal_size=(120, 40))


def test_snapshot_without_color(
    story: Any, engine: Any, app_context: Any, clock: Any, snap_compare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = BenchtuiApp(app_context, running(story, 4), engine, clock=clock)
    assert snap_compare(app, terminal_size=(80, 24))


def test_replayed_gauges_snapshot(story: Any, app_context: Any, clock: Any, snap_compare: Any) -> None:
    start = Start(target=ReplayTarget(percent=60))
    app = BenchtuiApp(app_context, running(story, 8), None, start=start, clock=clock)
    assert snap_compare(app, terminal_size=(120, 40))

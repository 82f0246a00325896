"""Every screen says of a simulated session that it is one, and of no other."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.library import paths
from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.charts.screen import Charts
from benchtui.tui.compare.screen import Compare
from benchtui.tui.explain.screen import WhyScreen
from benchtui.tui.library.screen import Library
from benchtui.tui.replay.player import Start
from benchtui.tui.shell.navigation import ComparisonRequested

SIZES = ((120, 40), (80, 24))


def record(story: Any, simulated: str | None) -> Path:
    story.begin(simulated=simulated, batch_sizes=(1, 2), precision=("fp32", "fp16"))
    for case in range(len(story.plan)):
        story.case(case, 10.0 + case, 30)
    path: Path = story.end().path
    return path


async def shown(seen: Any, screen: type, *keys: str) -> str:
    """Press keys until the screen is there and drawn; return its text."""
    await seen.pilot.press(*keys)
    for _ in range(200):
        await seen.pilot.pause(0.02)
        if isinstance(seen.app.screen, screen):
            break
    await seen.app.workers.wait_for_complete()
    await seen.pilot.pause()
    return str(seen.text)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("simulated", ["a model", None])
async def test_monitor_charts_and_case_say_so_before_a_case_has_ended(
    story: Any, opened: Any, size: tuple[int, int], simulated: str | None
) -> None:
    async with opened(record(story, simulated), start=Start(), size=size) as seen:
        assert seen.panel("heading")[0].strip().startswith("SIMULATED trial") is (simulated is not None)
        seen.clock.now_s += 100.0
        await seen.look()
        for keys, screen in ((("enter",), CaseScreen), (("escape", "3"), Charts)):
            text = await shown(seen, screen, *keys)
            assert ("SIMULATED" in text) is (simulated is not None), text


async def test_comparison_says_so_beside_a_measured_session(
    make_story: Any, tmp_path: Path, opened: Any
) -> None:
    modeled = record(make_story(tmp_path / "modeled.json"), "a model")
    measured = record(make_story(tmp_path / "measured.json"), None)
    async with opened(measured) as seen:
        seen.app.post_message(ComparisonRequested((measured, modeled)))
        text = await shown(seen, Compare)
        assert "SIMULATED modeled" in text and "SIMULATED measured" not in text


@pytest.mark.parametrize("simulated", ["a model", None])
async def test_library_says_so(
    home: Path, make_story: Any, opened: Any, app_context: Any, simulated: str | None
) -> None:
    path = record(make_story(paths.folder() / "mine.json"), simulated)
    async with opened(path, app_context=replace(app_context, recorded=paths.entries)) as seen:
        text = await shown(seen, Library, "4")
        assert ("SIMULATED mine" in text) is (simulated is not None), text


async def test_why_says_so(opened: Any) -> None:
    async with opened(paths.demo_path(), size=SIZES[1]) as seen:
        await seen.press("g")
        text = await shown(seen, WhyScreen, "W")
        assert "SIMULATED" in text
        assert "matrix products" in text and "TFLOP/s" in text, "the demo has profiles to show"


@pytest.mark.parametrize("size", SIZES)
async def test_demo_says_so_and_when(opened: Any, size: tuple[int, int]) -> None:
    async with opened(paths.demo_path(), start=Start(), size=size) as seen:
        assert "SIMULATED llama-1b-sweep" in seen.panel("heading")[0]
        assert "simulated 2026-11-23" in seen.panel("transport")[0]
    async with opened(paths.demo_path(paths.CPU_DEMO), start=Start(), size=size) as seen:
        assert "SIMULATED" not in seen.panel("heading")[0]
        assert "recorded 2026-11-26" in seen.panel("transport")[0] or size == (80, 24)

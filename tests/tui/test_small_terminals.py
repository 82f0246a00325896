"""In a terminal under 60x20, and in one without colors, each page says its answer first."""

import os
from itertools import cycle
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.library import paths
from benchtui.tui.shell.context import AppContext

ANSWERS = {
    "home": ("this machine",),
    "sweep": ("quick", "16 cases"),
    "charts": ("samples/s over", "★"),
    "library": ("sessions",),
    "compare": ("against A",),
    "case": ("fp32 bs 8", "p50"),
    "why": ("fp32 bs 1", "28% of the step"),
}
"""Words on each page."""
WHOLE = ANSWERS | {"sweep": ("quick",), "charts": ("samples/s over",), "compare": ("Undecided: B",)}
"""Words on the first lines of pages that are shown in full."""


@pytest.mark.parametrize(("place", "size"), zip(ANSWERS, cycle([(59, 19), (40, 12)]), strict=False))
async def test_small_terminal_shows_the_answer(
    stage: Any, app_context: AppContext, place: str, size: tuple[int, int]
) -> None:
    await assert_answer(stage, app_context, place, size, ANSWERS[place])


@pytest.mark.parametrize("place", ["charts", "library", "compare", "case"])
async def test_forty_columns_cut_no_words(stage: Any, app_context: AppContext, place: str) -> None:
    async with stage.at(place, replace(app_context, recorded=paths.entries), (40, 20)) as seen:
        await seen.settle()
        first = "\n".join(seen.text.splitlines()[:10])
        assert "…" not in first, first


@pytest.mark.parametrize("place", ANSWERS)
async def test_terminal_without_colors_and_signs_shows_the_answer(
    stage: Any, app_context: AppContext, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = await assert_answer(stage, app_context, place, (80, 24), WHOLE[place], ascii_only=True)
    assert text.isascii()


@pytest.mark.parametrize("place", ANSWERS)
async def test_terminal_of_sixteen_colors_shows_the_answer(
    stage: Any, app_context: AppContext, place: str
) -> None:
    in_library = replace(app_context, recorded=paths.entries)
    async with stage.at(place, in_library, (80, 24), theme="terminal") as seen:
        await seen.settle()
        assert all(word in "\n".join(seen.text.splitlines()[:8]) for word in WHOLE[place])
        styles = {
            part.style for row in seen.app.screen._compositor.render_strips() for part in row if part.style
        }
        colors = {color for style in styles for color in (style.color, style.bgcolor) if color}
        assert [color for color in colors if color.number is None and not color.is_default] == []


async def assert_answer(
    stage: Any,
    app_context: AppContext,
    place: str,
    size: tuple[int, int],
    words: tuple[str, ...],
    **options: Any,
) -> str:
    """Check that the first lines of a page have its answer. Return its text."""
    in_library = replace(app_context, recorded=paths.entries)
    async with stage.at(place, in_library, size, **options) as seen:
        await seen.settle()
        first = "\n".join(seen.text.splitlines()[:8])
        assert all(word in first for word in words), first
        assert all(len(row) <= size[0] for row in seen.text.splitlines())
        return str(seen.text)


@pytest.mark.parametrize("size", [(59, 19), (40, 12), (40, 8)])
async def test_small_monitor_names_the_case_to_run(story: Any, opened: Any, size: tuple[int, int]) -> None:
    story.begin(rounds=3)
    for case, ms in enumerate((10.0, 11.0, 12.0)):
        story.case(case, ms, rounds=3)
    story.end()
    async with opened(story.path, size=size) as seen:
        await seen.settle()
        first = seen.text.splitlines()[:3]
        assert "completed" in first[0] and "★ bs 4" in first[1], first
        assert "samples/s" in "\n".join(first)


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
async def test_the_end_is_read_without_colors(
    story: Any, opened: Any, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, {"NO_COLOR": "1", "TERM": "linux"}[variable])
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 11.0, rounds=3).start(2)
    story.finish(2, "oom", reason="full").end()
    async with opened(story.path, size=(80, 24)) as seen:
        await seen.settle()
        assert "completed" in seen.text and "1 oom" in seen.text and "bs 2" in seen.text
        assert seen.app.theme == "terminal" or variable not in os.environ or variable == "TERM"

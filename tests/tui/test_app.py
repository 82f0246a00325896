from typing import Any

import pytest

from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.shell.navigation import PLACES, Opened


@pytest.mark.parametrize(("key", "place"), list(zip("12345", PLACES, strict=True)))
async def test_a_number_leads_to_its_place(opened: Any, key: str, place: str) -> None:
    async with opened() as seen:
        await seen.press(key)
        assert f"▸{key} {place.capitalize()}" in seen.panel("places")[0]


@pytest.mark.parametrize("key", ["2", "3"])
async def test_a_place_without_a_session_says_how_to_fill_it(opened: Any, key: str) -> None:
    async with opened() as seen:
        await seen.press(key)
        assert "no session is open yet" in seen.text


async def test_a_place_is_as_it_was_left(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0).case(1)
    async with opened(story.path, engine) as seen:
        await seen.press("g", "4", "2")
        assert "case 1 of 3" in seen.text


async def test_a_session_opened_elsewhere_is_shown_by_the_monitor(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened() as seen:
        await seen.press("2", "4")
        seen.app.post_message(Opened(story.path, engine))
        await seen.look()
        assert isinstance(seen.app.screen, Monitor)
        assert "trial" in seen.text


async def test_leaving_another_place_while_a_sweep_runs_asks_how(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        await seen.press("4", "q")
        assert isinstance(seen.app.screen, Monitor)
        assert "The sweep runs on." in seen.text


async def test_an_own_theme_is_one_of_the_themes_and_a_broken_one_is_told(
    opened: Any, configuration: Any
) -> None:
    (configuration / "themes").mkdir(parents=True)
    (configuration / "themes" / "night.toml").write_text('[colours]\nbackground = "#000010"\n')
    (configuration / "themes" / "odd.toml").write_text("dark = 1\n")
    async with opened(theme="night") as seen:
        assert seen.app.screen.styles.background.hex == "#000010"
        told = [notification.message for notification in seen.app._notifications]
        assert len(told) == 1 and "odd.toml: dark: 1 is not a boolean" in told[0]

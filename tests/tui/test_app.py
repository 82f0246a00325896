from typing import Any

import pytest

from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.shell.navigation import PLACES, Opened


@pytest.mark.parametrize(("key", "place"), list(zip("12345", PLACES, strict=True)))
async def test_number_keys_switch_views(opened: Any, key: str, place: str) -> None:
    async with opened() as seen:
        await seen.press(key)
        assert f"▸{key} {place.capitalize()}" in seen.panel("places")[0]


@pytest.mark.parametrize("key", ["2", "3"])
async def test_a_view_without_a_session_shows_how_to_open_one(opened: Any, key: str) -> None:
    async with opened() as seen:
        await seen.press(key)
        assert "no session is open" in seen.text


async def test_views_keep_their_state(story: Any, engine: Any, opened: Any) -> None:
    story.begin().case(0).case(1)
    async with opened(story.path, engine) as seen:
        await seen.press("g", "4", "2")
        assert "case 1 of 3" in seen.text


async def test_opening_a_session_from_another_view_shows_it_in_the_monitor(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin().start(0)
    async with opened() as seen:
        await seen.press("2", "4")
        seen.app.post_message(Opened(story.path, engine))
        await seen.look()
        assert isinstance(seen.app.screen, Monitor)
        assert "trial" in seen.text


async def test_quitting_from_another_view_during_a_sweep_asks_how(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0)
    async with opened(story.path, engine) as seen:
        await seen.press("4", "q")
        assert isinstance(seen.app.screen, Monitor)
        assert "The sweep is running." in seen.text


async def test_user_themes_are_listed_and_broken_ones_reported(opened: Any, configuration: Any) -> None:
    (configuration / "themes").mkdir(parents=True)
    (configuration / "themes" / "night.toml").write_text('[colours]\nbackground = "#000010"\n')
    (configuration / "themes" / "odd.toml").write_text("dark = 1\n")
    async with opened(theme="night") as seen:
        assert seen.app.screen.styles.background.hex == "#000010"
        told = [notification.message for notification in seen.app._notifications]
        assert len(told) == 1 and "odd.toml: dark: 1 is not a boolean" in told[0]

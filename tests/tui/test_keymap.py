"""Keys by id: all are listed, a map of the user's is followed, and the way out can't be mapped away."""

from dataclasses import replace
from typing import Any

from benchtui.tui import keymap
from benchtui.tui.preferences import Preferences
from benchtui.tui.settings import Settings


def test_every_key_of_the_monitor_and_the_app_is_listed_once() -> None:
    places = dict(keymap.every())
    ids = [each.id for bindings in places.values() for each in bindings]
    assert len(ids) == len(set(ids))
    assert {"monitor.skip", "monitor.filter", "app.theme", "columns.done"} <= set(ids)
    assert "Monitor" in places and "BenchtuiApp" in places


def test_keys_are_shown_as_a_reader_knows_them() -> None:
    assert keymap.shown("question_mark,f1,slash,escape,plus,ctrl+z,K") == "?  f1  /  esc  +  ctrl+z  K"


def test_the_ways_out_are_kept() -> None:
    kept, problems = keymap.usable({"monitor.skip": "ctrl+q", "monitor.sort": "f5", "monitor.again": " "})
    assert kept == {"monitor.sort": "f5"}
    assert "always leaves the app" in problems[0] and "no key is given" in problems[1]


def test_mistakes_are_told_a_line_each() -> None:
    lines = keymap.mistakes({"monitor.skp": "f5", "monitor.sort": "x"})
    assert lines[0] == "keys: no action 'monitor.skp'; `benchtui keys` lists them"
    assert lines[1:] == ["keys: x would do monitor.skip and monitor.sort; the mapped one wins"]
    assert keymap.mistakes({"monitor.skip": "f5"}) == []


async def test_a_mapped_key_works_and_the_help_shows_it(
    story: Any, engine: Any, opened: Any, surroundings: Any
) -> None:
    story.begin().start(0)
    keys = {"monitor.skip": "f5", "monitor.help": "f2", "monitor.quit": "f10", "monitor.cost": "ctrl+c"}
    mine = replace(surroundings, preferences=Preferences(Settings(keys=keys)))
    async with opened(story.path, engine, surroundings=mine) as seen:
        await seen.press("x")
        assert engine.told == []
        await seen.press("f5")
        await seen.app.workers.wait_for_complete()
        assert engine.told == ["skip 0"]
        await seen.press("f2")
        assert any(row.split()[:4] == ["f5", "Skip", "a", "running"] for row in seen.text.split("\n"))
        await seen.press("escape", "ctrl+q")
        assert "d: detach" in seen.panel("log")[-1]
        await seen.press("escape", "f10")
        assert "d: detach" in seen.panel("log")[-1]


async def test_a_clash_is_told_and_the_app_goes_on(
    story: Any, engine: Any, opened: Any, surroundings: Any
) -> None:
    story.begin().start(0)
    mine = replace(surroundings, preferences=Preferences(Settings(keys={"monitor.sort": "x"})))
    async with opened(story.path, engine, surroundings=mine) as seen:
        await seen.app.workers.wait_for_complete()
        for _ in range(20):
            await seen.pilot.pause(0.05)
        told = [toast.message for toast in seen.app._notifications]
        assert told == ["keys: x would do monitor.skip and monitor.sort; the mapped one wins"]
        await seen.press("x")
        assert engine.told == [] and "▴case" in seen.panel("header")[0]


async def test_a_file_with_a_mistake_never_keeps_the_app_from_starting(
    story: Any, opened: Any, surroundings: Any
) -> None:
    preferences = Preferences()
    preferences.problems = ("config.toml: hz: [oops] is not known",)
    story.begin().case(0).end()
    async with opened(story.path, surroundings=replace(surroundings, preferences=preferences)) as seen:
        await seen.pilot.pause(0.2)
        assert [toast.message for toast in seen.app._notifications] == ["config.toml: hz: [oops] is not known"]

"""Key bindings: all are listed, user mappings apply, and quit and back keys can't be remapped."""

from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.tui.shell import keymap
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings
from benchtui.tui.views import key_owners

OWNERS = key_owners()


def test_listing_shows_mapped_keys() -> None:
    listed = keymap.listing({"library.mark": "insert, ctrl+k", "case.back": "f9"}, OWNERS)
    (mark,) = [line for line in listed if "library.mark" in line]
    assert mark.split()[1:3] == ["insert", "ctrl+k"]
    (back,) = [line for line in listed if "case.back" in line]
    assert back.split()[1:3] == ["f9", "esc"]
    assert listed[-1] == "always: esc goes back, ctrl+q and ctrl+c quit"


def test_quit_and_back_keys_cannot_be_remapped() -> None:
    wanted = {"monitor.skip": "ctrl+q", "monitor.sort": "f5", "monitor.again": " ", "monitor.add": "esc"}
    kept, problems = keymap.valid_entries({**wanted, "monitor.back": "f6"})
    assert kept == {"monitor.sort": "f5", "monitor.back": "f6,escape"}
    assert problems == [
        "keys: monitor.skip = 'ctrl+q': ctrl+q always quits",
        "keys: monitor.again = ' ': no key given",
        "keys: monitor.add = 'esc': esc always goes back",
    ]


@pytest.mark.parametrize(
    "given", ["f5", "pgdn", "del", "/", "question_mark", "ctrl+k", "shift+f3", "ä", "K, f6"]
)
def test_displayed_key_names_are_accepted(given: str) -> None:
    kept, problems = keymap.valid_entries({"monitor.skip": given})
    assert not problems and kept["monitor.skip"].split(",")[0] not in ("pgdn", "del")


@pytest.mark.parametrize("given", ["hyperspace", "f99", "strg+k", "ctrl+", "a b"])
def test_unknown_key_is_reported(given: str) -> None:
    kept, problems = keymap.valid_entries({"monitor.skip": given})
    assert not kept
    assert problems == [
        f"keys: monitor.skip = {given!r}: {given!r} is not a key; use f5, space, pgdn, ctrl+k, or a letter"
    ]


def test_each_invalid_entry_is_reported_in_one_line() -> None:
    lines = keymap.problems({"monitor.skp": "f5", "monitor.sort": "x"}, OWNERS)
    assert lines[0] == "keys: unknown action 'monitor.skp'; list all actions with `benchtui keys`"
    assert lines[1:] == ["keys: x is bound to monitor.skip and monitor.sort; the mapped one takes precedence"]
    assert keymap.problems({"monitor.skip": "f5"}, OWNERS) == []


def test_conflict_with_an_app_key_is_reported_once() -> None:
    assert keymap.problems({"app.theme": "f9", "library.mark": "f9"}, OWNERS) == [
        "keys: f9 is bound to library.mark and app.theme; library.mark takes precedence where available"
    ]
    assert keymap.problems({"monitor.sort": "t"}, OWNERS) == [
        "keys: t is bound to monitor.sort and app.theme; monitor.sort takes precedence where available"
    ]
    assert keymap.problems({"monitor.sort": "f9", "monitor.skip": "f9"}, OWNERS) == [
        "keys: f9 is bound to monitor.skip and monitor.sort; map one of them to another key"
    ]


def test_two_actions_can_swap_keys() -> None:
    assert keymap.problems({"monitor.earlier": "J", "monitor.later": "K"}, OWNERS) == []


async def test_mapped_key_works_and_is_shown_in_the_help(
    story: Any, engine: Any, opened: Any, app_context: Any
) -> None:
    story.begin().start(0)
    keys = {"monitor.skip": "f5", "monitor.help": "f2", "monitor.quit": "f10", "monitor.cost": "ctrl+c"}
    mine = replace(app_context, preferences=Preferences(Settings(keys=keys)))
    async with opened(story.path, engine, app_context=mine) as seen:
        await seen.press("x")
        assert engine.commands == []
        await seen.press("f5")
        await seen.app.workers.wait_for_complete()
        assert engine.commands == ["skip 0"]
        await seen.press("f2")
        assert any("f5  " in row and "Skip a running case" in row for row in seen.text.split("\n"))
        await seen.press("escape", "ctrl+q")
        assert "d: detach" in seen.panel("log")[-1]
        await seen.press("escape", "f10")
        assert "d: detach" in seen.panel("log")[-1]


async def test_key_conflict_is_reported_and_the_app_starts(
    story: Any, engine: Any, opened: Any, app_context: Any
) -> None:
    story.begin().start(0)
    mine = replace(app_context, preferences=Preferences(Settings(keys={"monitor.sort": "x"})))
    async with opened(story.path, engine, app_context=mine) as seen:
        await seen.app.workers.wait_for_complete()
        for _ in range(20):
            await seen.pilot.pause(0.05)
        told = [toast.message for toast in seen.app._notifications]
        assert told == ["keys: x is bound to monitor.skip and monitor.sort; the mapped one takes precedence"]
        await seen.press("x")
        assert engine.commands == [] and "▴case" in seen.panel("header")[0]


async def test_invalid_settings_file_does_not_prevent_startup(
    story: Any, opened: Any, app_context: Any
) -> None:
    preferences = Preferences()
    preferences.problems = ("config.toml: hz: [oops] is not recognized",)
    story.begin().case(0).end()
    async with opened(story.path, app_context=replace(app_context, preferences=preferences)) as seen:
        await seen.pilot.pause(0.2)
        assert [toast.message for toast in seen.app._notifications] == [
            "config.toml: hz: [oops] is not recognized"
        ]


async def test_messages_name_mapped_keys(opened: Any, app_context: Any) -> None:
    keys = {"sweep.start": "f5", "sweep.help": "f2, h", "sweep.switch": "pgdn", "sweep.yes": "f7"}
    mine = replace(app_context, preferences=Preferences(Settings(keys=keys)))
    async with opened(app_context=mine) as seen:
        assert "f5 starts this sweep. enter edits a value" in seen.text and "f2 shows" in seen.text
        await seen.press("down", "up")
        assert "pgdn toggles it" in seen.text
        await seen.press("right", "pagedown", "q")
        assert "f7: quit anyway.  esc: back." in seen.text
        await seen.press("f7")
    assert seen.app.return_value.how == "closed"

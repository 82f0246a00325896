"""Every key of every view has an effect, and after a remap only under its new name."""

import pkgutil
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.binding import Binding
from textual.screen import Screen

from benchtui import tui
from benchtui.sessions.library import paths
from benchtui.sessions.stored_models.hub_cache import bundled_models, cache_folder
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell import keymap
from benchtui.tui.shell.keymap import BACK, QUIT_KEYS
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings
from benchtui.tui.views import key_owners

EVERY = {each.id: each for owner in key_owners() for each in keymap.bindings_of(owner)}
TRIED = [name for name in EVERY if name != "app.suspend"]
ANSWER = "sweep.yes"
"""Is there only while something is asked."""
FREE = [f"{modifier}f{number}" for modifier in ("", "shift+", "ctrl+") for number in range(6, 25)]
"""Keys that nothing has without a map."""
WORKS = {
    "palette": "palette.down",
    "app": "app.library",
    "open": "open.down",
    "columns": "columns.down",
    "import": "import.down",
    "page": "page.down",
    "permission": "permission.yes",
    "other_sweep": "other_sweep.wait",
    "replay": "replay.moment",
}
"""What is tried under its new key where there is no help."""
FILTERED = ("slash", "b", "s", "enter")
BEFORE: dict[str, tuple[str, ...]] = {
    "app.home": ("4",),
    "app.sweep": ("4",),
    "home.up": ("down",),
    "home.page_up": ("G",),
    "home.first": ("G",),
    "home.back": ("z",),
    "sweep.reset": ("j", "j", "j", "l", "space"),
    "sweep.switch_alike": ("tab",),
    "sweep.yes": ("j", "j", "j", "l", "space", "q"),
    "sweep.back": ("tab",),
    "sweep.up": ("j",),
    "sweep.page_up": ("G",),
    "sweep.first": ("G",),
    "sweep.right": ("j", "j", "j"),
    "sweep.left": ("j", "j", "j", "l"),
    "open.up": ("down",),
    "open.page_up": ("pagedown",),
    "monitor.reverse": ("s",),
    "monitor.again": ("g",),
    "monitor.drop": ("G",),
    "monitor.undo": ("x",),
    "monitor.earlier": ("G",),
    "monitor.later": ("G",),
    "monitor.back": ("g",),
    "monitor.next": FILTERED,
    "monitor.previous": FILTERED,
    "replay.step_back": ("alt+5",),
    "replay.event_before": ("alt+5",),
    "replay.share_40": ("alt+5",),
    "columns.up": ("down",),
    "columns.left": ("down",),
    "columns.usual": ("space",),
    "columns.done": ("space",),
    "charts.up": ("down",),
    "charts.first": ("down",),
    "charts.left": ("right",),
    "case.previous": ("n",),
    "case.up": ("G",),
    "case.page_up": ("G",),
    "case.first": ("G",),
    "why.previous": ("n",),
    "why.up": ("G",),
    "why.page_up": ("G",),
    "why.first": ("G",),
    "report.previous": ("G",),
    "report.up": ("G",),
    "report.page_up": ("G",),
    "report.first": ("G",),
    "import.up": ("down",),
    "import.page_up": ("down",),
    "library.compare": ("space", "space"),
    "library.back": ("space",),
    "library.up": ("down",),
    "library.page_up": ("G",),
    "library.first": ("G",),
    "compare.back": FILTERED,
    "compare.up": ("down",),
    "compare.page_up": ("G",),
    "compare.first": ("G",),
    "palette.up": ("down",),
    "palette.page_up": ("pagedown",),
    "page.up": ("G",),
    "page.page_up": ("G",),
    "page.first": ("G",),
}
"""What has to be pressed before a key has something to do."""


def facts(seen: Any, engine: Any) -> tuple[object, ...]:
    """Everything that a user could notice in the app."""
    app = seen.app
    where = app.current_mode, len(app.screen_stack), app.screen
    picture = [[*strip] for strip in app.screen._compositor.render_strips()]
    notified = [notification.message for notification in app._notifications]
    return picture, notified, app.clipboard, tuple(engine.commands), where, app.theme, app.return_value


@pytest.fixture
def around(app_context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return replace(app_context, recorded=paths.entries, bundled=bundled_models)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if place % 4 else []) for place, name in enumerate(TRIED)],
)
async def test_every_key_has_an_effect(stage: Any, around: Any, name: str, make_story: Any) -> None:
    async with stage.at(name.split(".")[0], around) as seen:
        await seen.settle(*BEFORE.get(name, ()))
        if name == "library.look":
            make_story(paths.folder() / "four.json").begin().end().close()
        if name == "home.look":
            (cache_folder() / "models--org--new").mkdir(parents=True)
        before = facts(seen, stage.engine)
        first, *others = EVERY[name].keys.split(",")
        assert {_ours(seen, key) for key in others} <= {name}
        await seen.settle(first)
        assert facts(seen, stage.engine) != before


@pytest.mark.parametrize("place", keymap.TITLES)
async def test_a_remapped_key_works_only_under_its_new_name(stage: Any, app_context: Any, place: str) -> None:
    names = [name for name in TRIED if name.startswith(f"{place}.")]
    mapped = dict(zip(names, FREE, strict=False))
    preferences = Preferences(Settings(keys=mapped))
    around = replace(app_context, recorded=paths.entries, preferences=preferences)
    async with stage.at(place, around) as seen:
        here = [_ours(seen, key) for name, key in mapped.items() if name != ANSWER]
        assert here == [name for name in mapped if name != ANSWER]
        before = facts(seen, stage.engine)
        old = {key for name in mapped for key in EVERY[name].keys.split(",")} - {BACK}
        await seen.settle(*(key for key in sorted(old) if not _ours(seen, key)))
        assert facts(seen, stage.engine) == before
        await seen.settle(mapped[WORKS.get(place, f"{place}.help")])
        assert facts(seen, stage.engine) != before


def _ours(seen: Any, key: str) -> str | None:
    """Return the ID of a key's current action."""
    bound = seen.app.screen.active_bindings.get(key)
    return bound.binding.id if bound else None


async def test_suspend_is_handled_by_textual(stage: Any, app_context: Any, monkeypatch: Any) -> None:
    asked = []
    monkeypatch.setattr(BenchtuiApp, "action_suspend_process", lambda app: asked.append(app))
    async with stage.at("library", app_context) as seen:
        await seen.settle("ctrl+z")
        assert asked == [seen.app]


def test_key_owners_lists_every_screen_with_bindings() -> None:
    found = set()
    for module in pkgutil.walk_packages(tui.__path__, "benchtui.tui."):
        for each in vars(import_module(module.name)).values():
            is_screen = isinstance(each, type) and issubclass(each, Screen)
            if is_screen and each.__module__ == module.name and "BINDINGS" in vars(each):
                found.add(each)
    assert found == set(key_owners()[1:])


def test_every_binding_has_an_id_except_fixed_quit_keys() -> None:
    for owner in key_owners():
        for binding in vars(owner)["BINDINGS"]:
            assert isinstance(binding, Binding)
            assert binding.id or set(binding.key.split(",")) <= set(QUIT_KEYS), (owner, binding)


def test_no_key_has_two_actions_in_one_view() -> None:
    for owner in key_owners():
        keys = [key for binding in vars(owner)["BINDINGS"] for key in binding.key.split(",")]
        assert len(keys) == len(set(keys)), owner


def test_keys_of_multiplexers_and_terminals_are_not_bound() -> None:
    keys = {key for each in EVERY.values() for key in each.keys.split(",")}
    assert not keys & {"ctrl+a", "ctrl+b", "ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m"}


def test_the_key_listing_has_a_title_for_every_view() -> None:
    assert {name.split(".")[0] for name in EVERY} == set(keymap.TITLES)


@pytest.mark.parametrize(
    ("place", "key"),
    zip(
        ["monitor", "case", "why", "report", "page", "columns", "open", "charts", "library"],
        cycle(QUIT_KEYS),
        strict=False,
    ),
)
async def test_fixed_quit_keys_work_from_every_screen(
    stage: Any, app_context: Any, place: str, key: str
) -> None:
    async with stage.at(place, app_context) as seen:
        await seen.settle(key)
        assert seen.app.return_value is not None or "The sweep is running." in seen.text


async def test_the_key_bar_shows_mapped_keys_and_fixed_answers(stage: Any, app_context: Any) -> None:
    keys = {"monitor.skip": "f5", "monitor.up": "w", "monitor.detach": "f6"}
    mine = replace(app_context, preferences=Preferences(Settings(keys=keys)))
    async with stage.at("monitor", mine) as seen:
        footer = seen.panel("keys")[0]
        assert "f5 skip" in footer and " w down cases" in footer and "P pause" in footer
        await seen.settle("q")
        assert seen.panel("keys")[0].split() == ["d", "detach", "X", "stop", "esc", "back"]


async def test_mapped_letters_can_still_be_typed(stage: Any, app_context: Any) -> None:
    mine = replace(app_context, preferences=Preferences(Settings(keys={"monitor.skip": "v"})))
    async with stage.at("monitor", mine) as seen:
        await seen.settle("slash", "v")
        assert seen.app.screen.query_one("PromptInput").value == "v"
        assert stage.engine.commands == []


async def test_the_command_palette_lists_every_action_once(stage: Any, app_context: Any) -> None:
    async with stage.at("sweep", app_context) as seen:
        names = [command.title for command in seen.app.palette_commands.of(seen.app.screen)]
        assert len(names) == len(set(names))
        assert {"Run the sweep", "Undo", "Next tab"} <= set(names)

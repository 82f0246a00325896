"""Home: what its keys do, and what it says about models that aren't there."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from played_machine import add_model
from textual import events
from textual.widgets import Input

from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.permissions.needed import Consent
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.editor.screen import Editor
from benchtui.tui.home.reading import HomeReader
from benchtui.tui.home.screen import Home
from benchtui.tui.monitor.screen import Monitor
from benchtui.tui.replay.screen import ReplayMonitor
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings

At = Callable[..., Any]


@pytest.fixture
def started() -> list[Sweep]:
    """Sweeps that were started."""
    return []


@pytest.fixture
def at_home(home: Path, home_context: Any, started: list[Sweep], engine: Any, opened: Any) -> At:
    """Open Home, once everything has been read."""

    def start(sweep: Sweep, consent: Consent, wait: bool) -> Any:
        started.append(sweep)
        return engine

    @asynccontextmanager
    async def open_home(**fields: Any) -> AsyncIterator[Any]:
        model = fields.pop("model", "")
        size = fields.pop("size", (120, 40))
        context = replace(home_context, folder=Path.cwd(), start=start, **fields)
        async with opened(app_context=context, place="home", size=size, model=model) as seen:
            await seen.settle()
            yield seen

    return open_home


@pytest.fixture
def mini(cache: Path) -> Path:
    """A model in the cache."""
    return add_model(cache, "org/mini", "BertModel")


async def test_bare_app_opens_home(cache: Path, home_context: Any) -> None:
    async with BenchtuiApp(home_context).run_test() as pilot:
        assert isinstance(pilot.app.screen, Home)


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (40, 20)])
async def test_what_keys_measure_is_never_cut(mini: Path, at_home: At, size: tuple[int, int]) -> None:
    async with at_home(model="org/mini", size=size) as seen:
        await seen.until(lambda: "quick look" in seen.text)
        rows = seen.panel("card" if size[0] >= 60 else "small")
        start = next(at for at, row in enumerate(rows) if "measure it" in row)
        assert not any("…" in row for row in rows[start:])
        text = " ".join(" ".join(rows[start:]).split())
        assert "precision, attention, compile, threads v quick look" in text and "e choose" in text
        assert "mini" in seen.text[: seen.text.index("measure it")]


async def test_enter_searches_the_best_case_of_a_cached_model(
    mini: Path, at_home: At, started: list[Sweep], story: Any
) -> None:
    story.begin().start(0)
    async with at_home() as seen:
        await seen.settle("enter")
        assert isinstance(seen.app.screen, Monitor)
    (sweep,) = started
    assert (sweep.model, sweep.task, sweep.weights) == ("org/mini", "embed", "pretrained")
    assert sweep.find is not None and sweep.run.budget_s == 900


async def test_quick_look_is_a_search_of_a_minute(mini: Path, at_home: At, started: list[Sweep]) -> None:
    async with at_home() as seen:
        await seen.settle("v")
    assert started[0].run.budget_s == 60 and started[0].axes.batch_size == (1, 8, 32)


async def test_a_sweep_of_the_model_can_be_edited(mini: Path, at_home: At) -> None:
    async with at_home() as seen:
        await seen.settle("e")
        assert isinstance(seen.app.screen, Editor)
        sweep = seen.app.screen.state.sweep
        assert (sweep.model, sweep.task, sweep.weights) == ("org/mini", "embed", "pretrained")
        assert not seen.app.screen.state.draft.changed


async def test_demo_is_played(cache: Path, at_home: At) -> None:
    async with at_home() as seen:
        await seen.settle("d")
        assert isinstance(seen.app.screen, ReplayMonitor)


async def test_pasted_path_and_enter_measure_a_folder(
    cache: Path, at_home: At, started: list[Sweep], tmp_path: Path
) -> None:
    folder = tmp_path / "trained"
    shutil.copytree(add_model(cache, "org/mini", "BertModel"), folder)
    async with at_home() as seen:
        seen.app.post_message(events.Paste(f"{folder}\n"))
        await seen.settle()
        assert f"▸  {tmp_path.name}/trained" in seen.text
        await seen.settle("enter")
    assert started[0].model == str(folder) and started[0].weights == "pretrained"


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("machine", [0, 1, 8, 16], indirect=True)
async def test_a_key_and_a_path_start_a_sweep_among_a_thousand_models(
    thousand_models: Path,
    machine: Any,
    at_home: At,
    started: list[Sweep],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
) -> None:
    monkeypatch.chdir(thousand_models)
    monkeypatch.setenv("HF_HUB_CACHE", "hub")
    folder = add_model(tmp_path / "own", "org/mine", "BertModel")
    async with at_home(size=size) as seen:
        seen.app.post_message(events.Paste(str(folder)))
        await seen.settle("enter")
    async with at_home(size=size) as seen:
        await seen.settle("enter")
    assert [sweep.model for sweep in started] == [str(folder), "meta-llama/Llama-3.1-70B"]


async def test_typed_path_is_completed_and_selected(cache: Path, at_home: At, tmp_path: Path) -> None:
    for name in ("trained-a", "trained-b"):
        shutil.copytree(add_model(cache, f"org/{name}", "BertModel"), tmp_path / "made" / name)
    async with at_home() as seen:
        await seen.press("slash", *"./ma", "tab")
        field = seen.app.focused
        assert isinstance(field, Input) and field.value == "./made/"
        await seen.press("t", "tab")
        assert field.value == "./made/trained-"
        assert "./made/trained-a  ./made/trained-b" in seen.text
        await seen.press("b", "tab")
        await seen.settle("enter")
        assert "▸  made/trained-b" in seen.text


async def test_path_typed_after_the_key_keeps_its_slash(cache: Path, at_home: At, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "mini"
    shutil.copytree(add_model(cache, "org/mini", "BertModel"), folder)
    async with at_home() as seen:
        await seen.press("slash", "slash")
        seen.app.post_message(events.Paste(str(folder).lstrip("/")))
        await seen.settle()
        await seen.settle("enter")
        assert seen.app.screen._selection.chosen.model == str(folder)


async def test_cached_model_is_preferred_to_a_folder_without_its_slash(
    mini: Path, at_home: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = HomeReader(replace(AppContext.here(), folder=Path.cwd()))
    monkeypatch.setattr(reader, "_folder", lambda text: "/org/mini" if text == "/org/mini" else None)
    assert reader.stored("org/mini") == "org/mini"
    assert reader.stored("/org/mini") == "/org/mini"


async def test_refused_start_leaves_no_message(mini: Path, at_home: At, engine: Any) -> None:
    async with at_home(running=lambda: [engine]) as seen:
        await seen.settle("enter")
        assert "Another sweep is running on this machine" in seen.text and "w: wait, then start" in seen.text
        await seen.settle("escape")
        assert "starting" not in seen.text


async def test_cached_model_is_completed(mini: Path, at_home: At) -> None:
    async with at_home() as seen:
        await seen.press("slash", "o", "tab")
        assert seen.app.focused.value == "org/mini"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/no/such/folder", "no such folder, and not in the cache of the hub"),
        ("./missing", "no such folder, and not in the cache of the hub"),
        ("hub/mini", "no such folder, and not in the cache of the hub"),
        ("hub", "no model in this folder: it has no config.json"),
        ("~nobody-here/model", "no such folder, and not in the cache of the hub"),
        ("x/" * 3000, "no such folder, and not in the cache of the hub"),
    ],
)
async def test_missing_model_is_said_in_red_before_anything_starts(
    cache: Path, at_home: At, started: list[Sweep], text: str, reason: str
) -> None:
    async with at_home() as seen:
        seen.app.post_message(events.Paste(text))
        await seen.settle()
        assert reason in " ".join(seen.text.split())
        assert seen.app.screen.query_one("#log").shown[0].role == "bad"
        await seen.settle("enter")
        assert "no model selected" in seen.text
    assert started == []


async def test_model_of_the_hub_says_that_it_is_downloaded(cache: Path, at_home: At) -> None:
    async with at_home(model="org/elsewhere") as seen:
        assert "▸  org/elsewhere" in seen.text
        assert "not in the cache of the hub: measuring it downloads it" in seen.text


async def test_named_model_is_selected(mini: Path, at_home: At, tmp_path: Path) -> None:
    add_model(Path("hub"), "org/zeta", "BertModel")
    async with at_home(model="org/zeta") as seen:
        assert "▸  org/zeta" in seen.text


async def test_folders_of_the_settings_are_listed(cache: Path, at_home: At, tmp_path: Path) -> None:
    shutil.copytree(add_model(cache, "org/mini", "BertModel"), tmp_path / "models" / "org" / "mine")
    preferences = Preferences(Settings(models=(str(tmp_path / "models"),)))
    async with at_home(preferences=preferences) as seen:
        assert "org/mine" in seen.text and "org/mini" in seen.text


async def test_best_known_result_is_shown_and_opened(
    mini: Path, at_home: At, make_story: Any, tmp_path: Path
) -> None:
    other = make_story(tmp_path / "measured.json")
    other.begin(batch_sizes=(1, 2)).case(0).case(1, 5.0).end().close()
    session = Session.load(other.path)
    started = replace(session.start, sweep=replace(session.start.sweep, model="org/mini"))
    entry = SessionFile(other.path, started, finished=True)
    async with at_home(known=lambda: [entry]) as seen:
        assert "398 samples/s" in seen.text and "known result" in seen.text
        await seen.settle("o")
        assert isinstance(seen.app.screen, Monitor) and seen.app.screen.feed.path == other.path


async def test_sessions_of_other_machines_are_not_known_here(
    mini: Path, at_home: At, make_story: Any, tmp_path: Path
) -> None:
    other = make_story(tmp_path / "measured.json")
    other.begin(batch_sizes=(1,)).case(0).end().close()
    entry = SessionFile(other.path, Session.load(other.path).start, finished=True)
    async with at_home(known=lambda: [entry], hostname="another") as seen:
        assert "tiny-bert" not in seen.text
        await seen.press("o")
        assert "hasn't been measured here yet" in seen.text


async def test_filter_narrows_the_list_until_escape(cache: Path, at_home: At) -> None:
    for name in ("alpha", "beta"):
        add_model(cache, f"org/{name}", "BertModel")
    async with at_home() as seen:
        await seen.press("slash", *"bet", "enter")
        assert "org/beta" in seen.text and "org/alpha" not in seen.text
        await seen.press("escape")
        assert "org/alpha" in seen.text


@pytest.mark.parametrize("machine", [16], indirect=True)
async def test_zoom_shows_every_gpu(cache: Path, machine: Any, at_home: At) -> None:
    async with at_home(size=(80, 24)) as seen:
        assert "more GPUs" in seen.text
        await seen.press("z")
        assert "more GPUs" not in seen.text and " 15 H100" in seen.text
        await seen.press("escape")
        assert "models here" in seen.text


@pytest.mark.parametrize("machine", [4], indirect=True)
async def test_users_of_gpus_are_named(cache: Path, machine: Any, at_home: At) -> None:
    async with at_home() as seen:
        assert "3 of 4 GPUs free" in seen.text
        row = next(line for line in seen.text.splitlines() if "⚑2 H100" in line)
        assert "alice: vllm" in row


async def test_machine_is_read_only_while_it_is_shown(cache: Path, machine: Any, at_home: At) -> None:
    async with at_home() as seen:
        assert (machine.watched, machine.ended) == (1, 0)
        await seen.press("4")
        assert machine.ended == 1
        await seen.press("0")
        assert machine.watched == 2


async def test_key_without_any_model_says_what_to_do(cache: Path, at_home: At) -> None:
    async with at_home() as seen:
        await seen.settle("enter")
        assert "no model selected; / takes a path or a hub id" in seen.text


async def test_running_sweep_is_named(cache: Path, at_home: At, engine: Any) -> None:
    async with at_home(running=lambda: [engine]) as seen:
        assert "a sweep is running: 2" in seen.text

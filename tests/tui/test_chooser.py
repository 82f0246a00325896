from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchtui.sessions.library import Entry
from benchtui.sessions.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.tui.ending import Ending
from benchtui.tui.offers import offers
from benchtui.tui.screens.chooser import Chooser
from benchtui.tui.screens.monitor import Monitor
from benchtui.tui.screens.page import Page
from benchtui.tui.surroundings import Surroundings

SWEEP = 'model = "tiny-bert"\n[axes]\nbatch_size = [1, 2]\n'


def entry(story: Any) -> Entry:
    return Entry(story.path, Session.load(story.path).start, finished=True)


async def settle(seen: Any) -> None:
    """Wait for what the chooser does beside the screen."""
    for _ in range(50):
        await seen.pilot.pause(0.02)
        if seen.panel("chooser") if isinstance(seen.app.screen, Chooser) else True:
            return


def test_presets_say_what_they_need(surroundings: Surroundings) -> None:
    found = {offer.name: offer for offer in offers(surroundings)}
    assert "16 cases; cpu, cuda:0; no download" in found["quick"].about
    assert "downloads weights" in found["distilbert-sst2"].about
    assert "30 cases; cuda:0; no download" in found["gpt2-train"].about
    assert not any(offer.problem for offer in found.values())


def test_sweeps_of_the_folder_and_their_errors_are_listed(surroundings: Surroundings) -> None:
    (surroundings.folder / "mine.toml").write_text(SWEEP)
    (surroundings.folder / "broken.toml").write_text("model = [")
    (surroundings.folder / "bad\x1b[2J.toml").write_bytes(b"\xff\xfe")
    (surroundings.folder / "pyproject.toml").write_text("[project]\n")
    listed = [offer for offer in offers(surroundings) if offer.group == "Sweeps in this folder"]
    assert [offer.name for offer in listed] == ["bad[2J.toml", "broken.toml", "mine.toml"]
    assert [bool(offer.problem) for offer in listed] == [True, True, False]
    assert "not valid TOML" in listed[1].problem and "\x1b" not in listed[0].problem


def test_running_engines_come_first_and_are_not_listed_twice(
    surroundings: Surroundings, story: Any, engine: Any
) -> None:
    story.begin()
    busy = replace(surroundings, running=lambda: [engine], recorded=lambda: [entry(story)])
    found = offers(busy)
    assert (found[0].group, found[0].name, found[0].engine) == ("Running", "trial", engine)
    assert not any(offer.group == "Recorded" for offer in found)


async def test_the_first_screen_says_what_to_press(opened: Any) -> None:
    async with opened() as seen:
        await settle(seen)
        assert "choose a sweep to run" in seen.text
        assert "enter start or open" in seen.text
        assert seen.panel("chooser")[3].startswith("▸ distilbert-sst2")
        await seen.press("question_mark")
        assert isinstance(seen.app.screen, Page)
        await seen.press("escape", "q")
    assert seen.app.return_value == Ending("closed", None)


async def test_an_error_is_shown_whole_when_it_is_chosen(surroundings: Surroundings, opened: Any) -> None:
    (surroundings.folder / "broken.toml").write_text('model = "m"\ntask = "clasify"\n')
    async with opened(size=(80, 24)) as seen:
        await settle(seen)
        await seen.press("G")
        assert "did you mean 'classify'?" in " ".join(seen.panel("log"))
        await seen.press("enter")
        assert isinstance(seen.app.screen, Chooser)


async def test_enter_starts_a_sweep_and_shows_it(
    surroundings: Surroundings, opened: Any, story: Any, engine: Any
) -> None:
    started: list[str] = []

    def start(sweep: Sweep) -> Any:
        started.append(sweep.name)
        story.begin()
        return engine

    async with opened(surroundings=replace(surroundings, start=start)) as seen:
        await settle(seen)
        await seen.press("G", "enter")
        await until(seen, lambda: isinstance(seen.app.screen, Monitor))
        await seen.look()
        assert started == ["quick"]
        assert "0/3 cases" in seen.panel("heading")[0]
        await seen.press("d")
    assert seen.app.return_value == Ending("detached", story.path)


async def test_an_engine_that_does_not_come_up_is_told(opened: Any) -> None:
    async with opened() as seen:
        await settle(seen)
        await seen.press("enter")
        await until(seen, lambda: "no engine" in seen.panel("log")[-1])
        await seen.press("down")
        assert isinstance(seen.app.screen, Chooser)


async def test_a_recorded_session_opens(surroundings: Surroundings, opened: Any, story: Any) -> None:
    story.begin().case(0).end()
    async with opened(surroundings=replace(surroundings, recorded=lambda: [entry(story)])) as seen:
        await settle(seen)
        assert any(row.startswith("  trial") and "3 cases" in row for row in seen.panel("chooser"))
        await seen.press("G", "enter")
        await until(seen, lambda: isinstance(seen.app.screen, Monitor))
        await seen.look()
        assert seen.panel("heading")[0].endswith("completed")


async def test_looking_again_finds_what_is_new(surroundings: Surroundings, opened: Any) -> None:
    async with opened() as seen:
        await settle(seen)
        (Path(surroundings.folder) / "new.toml").write_text(SWEEP)
        await seen.press("r")
        await until(seen, lambda: "new.toml" in seen.text)


async def until(seen: Any, happened: Callable[[], bool]) -> None:
    """Wait, ten seconds at most, for what a thread brings about."""
    for _ in range(500):
        if happened():
            return
        await seen.pilot.pause(0.02)
    raise AssertionError(seen.text)

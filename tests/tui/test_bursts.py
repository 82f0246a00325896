"""Keys that arrive all at once act as if the user had waited for the screen after each of them."""

import asyncio
import random
import unicodedata
from collections.abc import Sequence
from typing import Any

import bursts
import pytest
from msgspec.structs import replace
from textual import events
from textual.widgets import Input

from benchtui.sessions.library import paths
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext

NAMED = {
    " ": "space",
    "/": "slash",
    ".": "full_stop",
    "-": "minus",
    "=": "equals_sign",
    "_": "underscore",
    "%": "percent_sign",
    "?": "question_mark",
}


def key_event(key: str) -> events.Key:
    """Return the event of a key, given as a character or as a name such as ``enter``."""
    if len(key) > 1:
        return events.Key(key, None)
    return events.Key(
        NAMED.get(key) or (key if key.isalnum() else unicodedata.name(key).lower().replace(" ", "_")), key
    )


async def send(app: BenchtuiApp, *sent: str | events.Event) -> None:
    """Put keys into the app's queue without a pause between them, and wait until all have been handled.

    A string of several characters is typed, unless it names a key in angle brackets.
    """
    for each in sent:
        for event in _events(each):
            app.post_message(event)
    await asyncio.sleep(0)
    while not app.key_queue.settled:
        await asyncio.sleep(0.005)


def _events(sent: str | events.Event) -> Sequence[events.Event]:
    if isinstance(sent, events.Event):
        return [sent]
    if sent.startswith("<"):
        return [key_event(sent.strip("<>"))]
    return [key_event(character) for character in sent]


def in_library(app_context: AppContext) -> AppContext:
    return replace(app_context, recorded=paths.entries)


@pytest.mark.parametrize(
    ("place", "sent", "shown"),
    [
        ("monitor", ("/", "oom"), "oom"),
        ("monitor", ("a", "batch_size=64"), "batch_size=64"),
        ("monitor", ("E", "<end>", "x"), "trial.mdx"),
        ("library", ("/", "two cuda"), "two cuda"),
        ("library", ("/", "one", "<enter>", "m", "q"), "oneq"),
        ("charts", ("/", "fp16 x"), "fp16 x"),
        ("sweep", ("o", "gpt2"), "gpt2"),
        ("sweep", ("o", "/tmp/x.toml"), "/tmp/x.toml"),
        ("compare", ("/", "faster xsd"), "faster xsd"),
    ],
)
async def test_prompt_takes_every_key_typed_behind_the_key_that_opens_it(
    stage: Any, app_context: AppContext, place: str, sent: tuple[str, ...], shown: str
) -> None:
    async with stage.at(place, in_library(app_context)) as seen:
        await send(seen.app, *sent)
        assert isinstance(seen.app.focused, Input)
        assert seen.app.focused.value == shown
        assert stage.engine.commands == []


async def test_pasted_text_enters_the_prompt_that_the_key_before_it_opens(
    stage: Any, app_context: AppContext
) -> None:
    async with stage.at("monitor", app_context) as seen:
        await send(seen.app, "/", events.Paste("cuda fp16"), "x")
        assert seen.app.focused.value == "cuda fp16x"


async def test_prompt_opens_again_right_after_it_was_submitted(stage: Any, app_context: AppContext) -> None:
    async with stage.at("monitor", app_context) as seen:
        await send(seen.app, "/", "oom", "<enter>", "/", " fp32", "<enter>")
        assert seen.app.screen.view.order.filter == "oom fp32"


async def test_keys_act_on_the_screen_that_the_key_before_them_opened(
    stage: Any, app_context: AppContext
) -> None:
    async with stage.at("monitor", in_library(app_context)) as seen:
        await send(seen.app, "<enter>", "<tab>", "<escape>", "4", "/", "three", "<enter>", "<enter>")
        await seen.look()
        assert seen.app.screen.feed.path == paths.folder() / "three.json"


async def test_keys_wait_for_the_list_of_the_library(stage: Any, app_context: AppContext) -> None:
    async with stage.at("monitor", in_library(app_context)) as seen:
        await send(seen.app, "4", "<end>", "<enter>")
        assert seen.app.current_mode != "library"
        assert seen.app.screen.feed.path.parent == paths.folder()


async def test_sweep_is_opened_by_name_and_started_in_one_burst(stage: Any, app_context: AppContext) -> None:
    started = []

    def start(sweep: Any, consent: Any, wait: bool) -> Any:
        started.append(sweep.name)
        return stage.engine

    async with stage.at("sweep", replace(app_context, start=start)) as seen:
        await send(seen.app, "o", "quick", "<enter>", "r", "<enter>")
        assert started == ["quick"]
        assert type(seen.app.screen).__name__ == "CaseScreen"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
async def test_random_bursts_end_where_a_model_of_the_app_says(
    home: Any, app_context: AppContext, seed: int
) -> None:
    bursts.furnish(paths.folder())
    before, model, dice = bursts.files(home), bursts.Model(), random.Random(seed)
    app = BenchtuiApp(in_library(app_context))
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(6):
            burst = bursts.burst_of(model, dice)
            await send(app, *(key if len(key) == 1 else f"<{key}>" for key in burst))
            await pilot.pause()
            picture = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
            assert not bursts.wrong(model, picture), f"{burst}\n{picture}"
    assert bursts.files(home) == before

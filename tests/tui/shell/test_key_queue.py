import asyncio

import pytest
from textual import events
from textual.app import App
from textual.screen import Screen

from benchtui.tui.shell import key_queue
from benchtui.tui.shell.key_queue import KeyQueue


class Typed(App[None]):
    """An app that records its keys."""

    def __init__(self) -> None:
        super().__init__()
        self.key_queue = KeyQueue(self)
        self.keys: list[str] = []

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            if self.key_queue.enqueue(event):
                return
            if event.key == "a":
                await asyncio.sleep(0.3)
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """Record a key that came back from the screen: it has been handled."""
        self.keys.append(event.key)


@pytest.mark.parametrize("hold_s", [0.01, 5.0])
async def test_keys_keep_their_order_even_if_none_is_handled_in_time(
    hold_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_queue, "HOLD_S", hold_s)
    app = Typed()
    async with app.run_test():
        for key in "abcdef":
            app.post_message(events.Key(key, key))
        async with asyncio.timeout(60):
            while len(app.keys) < 6 or not app.key_queue.settled:
                await asyncio.sleep(0.01)
    assert app.keys == list("abcdef")


class Opening(Screen[None]):
    """A screen that has yet to read what it shows."""

    holds_keys = True


async def test_keys_wait_for_a_screen_that_holds_them() -> None:
    app = Typed()
    async with app.run_test():
        screen = Opening()
        await app.push_screen(screen)
        app.post_message(events.Key("b", "b"))
        await asyncio.sleep(0.2)
        assert app.keys == []
        screen.holds_keys = False
        async with asyncio.timeout(60):
            while not app.keys or not app.key_queue.settled:
                await asyncio.sleep(0.01)
    assert app.keys == ["b"]


class Question(Screen[None]):
    """A screen that keys typed before it was there don't answer."""

    takes_earlier_keys = False


class Asking(Typed):
    """An app that asks at the key o."""

    def on_key(self, event: events.Key) -> None:
        if event.key == "o":
            self.push_screen(Question())


async def test_keys_typed_before_a_question_do_not_answer_it() -> None:
    app = Asking()
    async with app.run_test() as pilot:
        for key in "aoyy":
            app.post_message(events.Key(key, key))
        async with asyncio.timeout(60):
            while not (isinstance(app.screen, Question) and app.key_queue.settled):
                await asyncio.sleep(0.01)
        assert app.keys == ["a", "o"]
        await pilot.press("y")
        assert app.keys == ["a", "o", "y"]

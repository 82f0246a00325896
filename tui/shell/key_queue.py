"""Key queue: deliver keys one at a time, each to the screen or prompt that the previous one opened.

Textual sends a key to the widget that has the focus when the key is read. Opening a screen, mounting a prompt
and moving the focus take several messages after that. Without the queue, keys of a burst, such as a paste or a
slow link's backlog, would act on the screen that the user has already left.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from textual import events
from textual.app import App, ScreenStackError
from textual.message_pump import MessagePump
from textual.widget import Widget

from benchtui.tui.shell.keymap import QUIT_KEYS

HOLDS_KEYS = "holds keys"
"""Name of a worker that must finish before the next key: it opens a screen, or its result answers the key.

A screen also delays keys while its property ``holds_keys`` is true. Keys typed before a screen whose
``takes_earlier_keys`` is false are discarded.
"""
HOLD_S = 10.0
"""Longest time in seconds for which one key can hold up the next."""
LEAST_PASSES = 2
"""Number of passes over the messages after which a key counts as handled, if none are left."""
POLL_S = 0.002
"""Seconds between checks of widgets and workers."""
GENERATIONS = 4
"""Length of the longest chain of messages after a key: submitted text, its action, the result, a new focus."""


class KeyQueue:
    """Keys and pasted text in the order of arrival."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._waiting: deque[events.Event] = deque()
        self._delivered: list[events.Event] = []
        """Delivered events that the app hasn't handled yet; several if one takes over ``HOLD_S``."""
        self._task: asyncio.Task[None] | None = None

    @property
    def settled(self) -> bool:
        """Whether all keys have been handled."""
        return self._task is None or self._task.done()

    def enqueue(self, event: events.Key | events.Paste) -> bool:
        """Add an event to the queue. Return False if the app is to handle it now.

        A key that quits discards the keys before it.
        """
        if event in self._delivered:
            self._delivered.remove(event)
            return False
        if isinstance(event, events.Key) and event.key in QUIT_KEYS:
            self._waiting.clear()
            return False
        self._waiting.append(event)
        if self.settled:
            self._task = asyncio.create_task(self._deliver())
        return True

    def close(self) -> None:
        """Discard all keys."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _deliver(self) -> None:
        """Deliver each event once all effects of the previous one are complete."""
        await self._settle()
        while self._waiting:
            event = self._waiting.popleft()
            self._delivered.append(event)
            self._app.post_message(event)
            await self._settle()

    async def _settle(self) -> None:
        """Wait until the current key has been handled, for ``HOLD_S`` at most."""
        with suppress(TimeoutError, ScreenStackError):  # as the app exits, it has no screen
            before = self._app.screen
            async with asyncio.timeout(HOLD_S):
                passes = 0
                while passes < (LEAST_PASSES if self._idle else GENERATIONS):
                    target = self._target
                    await self._pass_messages()
                    passes += 1
                    while self._busy:
                        passes = 0
                        await asyncio.sleep(POLL_S)
                    passes = passes if target is self._target else 0
            if self._app.screen is not before and not getattr(self._app.screen, "takes_earlier_keys", True):
                self._waiting.clear()

    async def _pass_messages(self) -> None:
        """Wait until the app, the target of keys and its ancestors have processed their present messages.

        Messages bubble up. Those that they cause are processed in the next pass.
        """
        await _processed(self._app)
        for pump in list(_ancestors(self._target)):
            await _processed(pump)

    @property
    def _target(self) -> MessagePump:
        """Widget or screen to which a key would be sent."""
        return self._app.focused or self._app.screen

    @property
    def _idle(self) -> bool:
        """Whether neither the app nor its screen has messages. Never true while a timer fires often."""
        return not (self._app.message_queue_size or self._app.screen.message_queue_size)

    @property
    def _busy(self) -> bool:
        """Whether widgets are being mounted or removed or have messages, or a worker holds keys."""
        if any(widget.name == HOLDS_KEYS and not widget.is_finished for widget in self._app.workers):
            return True
        screen = self._app.screen
        if getattr(screen, "holds_keys", False):
            return True
        widgets = screen.walk_children(Widget)
        return not screen.is_mounted or any(
            not widget.is_mounted or widget._pruning or widget.message_queue_size for widget in widgets
        )


def _ancestors(pump: MessagePump) -> Iterator[MessagePump]:
    """Yield a widget, then its ancestors up to the app."""
    ancestor: MessagePump | None = pump
    while ancestor is not None:
        yield ancestor
        ancestor = ancestor._parent


async def _processed(pump: MessagePump) -> None:
    """Wait until a widget has processed the messages in its queue."""
    reached = asyncio.Event()
    if pump.call_later(reached.set):
        await reached.wait()

"""Garbage collection is off during start-up and while a session is read."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from benchtui.tui.shell import gc_control


@pytest.fixture(autouse=True)
def restore_gc() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


def test_objects_alive_when_gc_is_enabled_are_frozen() -> None:
    gc.disable()
    assert not gc.isenabled()
    gc_control.freeze_and_enable()
    assert gc.isenabled() and gc.get_freeze_count()
    gc.unfreeze()
    gc_control.freeze_and_enable()
    assert not gc.get_freeze_count()


@pytest.fixture
def slow_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read one byte at a time, so that even a slow machine sees a partly read session."""
    monkeypatch.setattr("benchtui.tui.live.feed.BATCH_BYTES", 1)
    monkeypatch.setattr("benchtui.tui.live.feed.READ_BUDGET_S", -1.0)


@pytest.mark.usefixtures("slow_reading")
async def test_gc_is_disabled_while_a_session_is_read(
    story: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.begin().case(0).case(1).end()
    async with opened(story.path) as seen:
        assert seen.app.views.feed.reading and not gc.isenabled()
        monkeypatch.setattr("benchtui.tui.live.feed.BATCH_BYTES", 1 << 16)
        while seen.app.views.feed.reading:
            await seen.look()
        await seen.look()
        assert gc.isenabled()


@pytest.mark.usefixtures("slow_reading")
async def test_leaving_a_partly_read_session_enables_gc(story: Any, opened: Any) -> None:
    story.begin().case(0).end()
    async with opened(story.path):
        assert not gc.isenabled()
    assert gc.isenabled()

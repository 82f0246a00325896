"""When Python looks for garbage."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from benchtui.tui.shell import gc_control


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


def test_what_there_is_when_looking_begins_is_never_looked_at_again() -> None:
    gc_control.disable()
    assert not gc.isenabled()
    gc_control.freeze_and_enable()
    assert gc.isenabled() and gc.get_freeze_count()
    gc.unfreeze()
    gc_control.freeze_and_enable()
    assert not gc.get_freeze_count()


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a byte be read at each look: a machine however slow doesn't come to the end of a record."""
    monkeypatch.setattr("benchtui.tui.live.feed.BATCH_BYTES", 1)
    monkeypatch.setattr("benchtui.tui.live.feed.READ_BUDGET_S", -1.0)


@pytest.mark.usefixtures("slowly")
async def test_nobody_looks_while_a_record_is_read(
    story: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.begin().case(0).case(1).end()
    async with opened(story.path) as seen:
        assert seen.app._feed.reading and not gc.isenabled()
        monkeypatch.setattr("benchtui.tui.live.feed.BATCH_BYTES", 1 << 16)
        while seen.app._feed.reading:
            await seen.look()
        await seen.look()
        assert gc.isenabled()


@pytest.mark.usefixtures("slowly")
async def test_leaving_a_record_half_read_has_garbage_collected_again(story: Any, opened: Any) -> None:
    story.begin().case(0).end()
    async with opened(story.path):
        assert not gc.isenabled()
    assert gc.isenabled()

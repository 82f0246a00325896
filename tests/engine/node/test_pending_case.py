import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.node.runner import PendingCase
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished

STARTED: Any = SimpleNamespace(pid=7, sources=[99], left_s=2.0, collect=lambda now_s: iter(["steps"]))


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    yield (ends := os.pipe())
    os.close(ends[1])


def ended(pending: PendingCase) -> list[tuple[int, str, str | None]]:
    events = list(pending.collect(1.0))
    return [(event.case, event.outcome, event.reason) for event in events if isinstance(event, CaseFinished)]


def test_case_starts_once_its_server_is_ready(pipe: tuple[int, int]) -> None:
    pending = PendingCase(3, pipe[0], lambda: STARTED)
    assert (pending.pid, pending.sources, list(pending.collect(1.0))) == (None, [pipe[0]], [])
    os.write(pipe[1], b"x")
    assert list(pending.collect(1.0)) == ["steps"]
    assert (pending.pid, pending.sources, pending.left_s) == (7, [99], 2.0)


def test_case_that_is_ended_before_it_starts_never_does(pipe: tuple[int, int]) -> None:
    pending = PendingCase(3, pipe[0], lambda: pytest.fail("started"))
    pending.end("skipped", "skipped by the user", 1.0)
    os.write(pipe[1], b"x")
    assert pending.left_s == 0.0
    assert ended(pending) == [(3, "skipped", "skipped by the user")]


def test_case_that_cannot_be_started_fails(pipe: tuple[int, int]) -> None:
    def start() -> Any:
        raise BenchtuiError("can't start the worker with A: the fork server is gone")

    pending = PendingCase(3, pipe[0], start)
    os.write(pipe[1], b"x")
    assert ended(pending) == [(3, "failed", "can't start the worker with A: the fork server is gone")]

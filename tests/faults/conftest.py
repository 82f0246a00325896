"""Engines of light cases, and what is left of them."""

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import light
import pytest
from watching import PATIENCE_S, Watched

from benchtui.engine.client import Engine
from benchtui.sessions.sweep import Sweep

Begin = Callable[..., Watched]


@pytest.fixture
def begin(home: Path) -> Iterator[Begin]:
    """Start an engine of light cases; what a test leaves of it is killed."""
    started: list[Any] = []
    watched: list[Watched] = []

    def run(sweep: Sweep, environment: dict[str, str] | None = None) -> Watched:
        engine = uuid.uuid4().hex[:12]
        folder = home / f"light-{len(started)}"
        folder.mkdir()
        process = light.launch(folder / "s.json", sweep, environment, session_id=engine)
        started.append(process)
        deadline_s = time.monotonic() + PATIENCE_S
        while not (folder / "s.json").exists():
            assert process.poll() is None and time.monotonic() < deadline_s
            time.sleep(0.01)
        watched.append(Watched(Engine(engine, folder / "s.json", process.pid)))
        return watched[-1]

    yield run
    for each in watched:
        each.close()
    for process in started:
        process.kill()
        process.wait()

"""Explainer: profiles cases of one session in other processes, for the pages that show them."""

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Explained
from benchtui.sessions.permissions.needed import PermissionNeededError
from benchtui.sessions.state.session import Session
from benchtui.tui.live.permission_question import PermissionQuestion
from benchtui.tui.live.remedies import RemedyTrials

QUEUED = "waits until all cases of the sweep are measured"


class Explainer:
    """Requests for profiles of one session's cases, and their outcomes."""

    def __init__(self, path: Path, engine: Callable[[], Engine | None]) -> None:
        """``engine`` returns the session's engine while it is running."""
        self.path = path
        self._engine = engine
        self.question = PermissionQuestion()
        self.remedies = RemedyTrials(path, engine, self.question)
        self._found: dict[int, Explained] = {}
        self._problems: dict[int, str] = {}
        self._queued: set[int] = set()
        """Cases that the session's engine has been asked to profile."""
        self._waiting: deque[int] = deque()
        self._running: tuple[int, float] | None = None
        """Case being profiled here, and its start time."""
        self._thread: threading.Thread | None = None

    def explained(self, session: Session, index: int) -> Explained | None:
        """Return the newest profile of a case, or why there is none."""
        return self._found.get(index) or session.cases[index].explained

    def request(self, session: Session, index: int) -> None:
        """Start profiling a case, unless that is already pending. ``problem`` reports errors."""
        from benchtui.sessions.explain.selection import (
            require_explainable,  # lazy import: not needed for the first paint
        )

        try:
            require_explainable(session, index)
        except BenchtuiError as error:
            self._problems[index] = str(error)
            return
        self._enqueue(index)

    def _enqueue(self, index: int) -> None:
        if self._is_pending(index):
            return
        self._problems.pop(index, None)
        self._waiting.append(index)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def problem(self, index: int) -> str:
        """Return why a case can't be profiled; empty if unknown."""
        return self._problems.get(index, "")

    def progress(self, index: int) -> str:
        """Describe the progress of profiling a case; empty if it isn't pending."""
        running = self._running
        if running and running[0] == index:
            return f"profiling its step in a separate process: {time.monotonic() - running[1]:.0f} s"
        if index in self._queued:
            return QUEUED
        return "waits for another profile" if index in self._waiting else ""

    def forget_queued(self, session: Session) -> None:
        """Forget requests that the session's engine has completed, or will never serve."""
        if self._queued and (session.finished or self._engine() is None):
            self._queued.clear()
        self._queued = {index for index in self._queued if session.cases[index].explained is None}

    def _is_pending(self, index: int) -> bool:
        running = self._running
        return index in self._waiting or index in self._queued or (running is not None and running[0] == index)

    def _work(self) -> None:
        """Profile the requested cases one after another."""
        while self._waiting:
            index = self._waiting[0]
            try:
                self._profile(index)
            except PermissionNeededError as error:
                retry = partial(self._enqueue, index)
                self._problems[index] = self.question.refuse(f"case {index + 1}", error, retry)
            except (BenchtuiError, OSError) as error:
                self._problems[index] = str(error)
            finally:
                self._running = None
                self._waiting.popleft()

    def _profile(self, index: int) -> None:
        if engine := self._engine():
            engine.explain([index])
            self._queued.add(index)
            return
        self._running = (index, time.monotonic())
        for message in client.explain(self.path, [index], consent=self.question.consent).messages():
            if message.explained:
                self._found[index] = message.explained

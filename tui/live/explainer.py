"""Explainer: profiles cases of one session in other processes, and tries the remedies of their findings."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Explained
from benchtui.sessions.library import paths
from benchtui.sessions.permissions.needed import NO_CONSENT, Permission, PermissionNeededError, keys, summary
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Sweep

if TYPE_CHECKING:  # takes memory, and only the page Why needs it
    from benchtui.sessions.explain.cases import ExplainedCase

QUEUED = "waits until all cases of the sweep are measured"


class PermissionQuestion:
    """Permissions of one session's work in the background: those given, and those that it needs."""

    def __init__(self) -> None:
        self.consent = NO_CONSENT
        """Permissions that were given."""
        self._needed: tuple[Permission, ...] = ()
        self._refused: dict[str, Callable[[], object]] = {}

    def refuse(self, work: str, error: PermissionNeededError, retry: Callable[[], object]) -> str:
        """Ask for permissions, and retry this work once they are given. Return the problem."""
        self._needed = error.permissions
        self._refused[work] = retry
        return f"not allowed on this machine yet: {summary(error.permissions)}"

    def take(self) -> tuple[Permission, ...]:
        """Return the permissions to ask for, once for each refusal; empty if none are needed."""
        needed, self._needed = self._needed, ()
        return needed

    def allow(self, permissions: Iterable[Permission]) -> None:
        """Give permissions, and retry what was refused for them."""
        self.consent |= keys(permissions)
        refused, self._refused = self._refused, {}
        for retry in refused.values():
            retry()


CHECK_S = 0.5
"""Seconds between two looks at whether the engine has ended."""


class RemedyTrials:
    """Requests to try the remedies of one session's cases, one after another, and their outcome."""

    def __init__(
        self, path: Callable[[], Path], engine: Callable[[], Engine | None], question: PermissionQuestion
    ) -> None:
        """``engine`` returns the session's engine while it is running."""
        self.path = path
        """Returns the session's file."""
        self._engine = engine
        self._question = question
        self._begun_s: float | None = None
        self.problem = ""
        """Why nothing was tried; empty if something was, or is."""
        self.joined: Session | None = None
        """The session with the rounds of the newest trial."""

    @property
    def status(self) -> str:
        """Progress of the trial, or why nothing was tried; empty if neither."""
        if self._begun_s is None:
            return f"No remedy was tried: {self.problem}" if self.problem else ""
        seconds = time.monotonic() - self._begun_s
        return f"Measuring the remedies and the case in alternating rounds: {seconds:.0f} s"

    def request(self, session: Session, explained: "ExplainedCase") -> None:
        """Start measuring the remedies of a case that haven't been tried, unless a trial is running."""
        # not needed for the first paint
        from benchtui.sessions.compare.joined import require_joinable
        from benchtui.sessions.explain.trials import chosen, trial_sweep

        if self._begun_s is not None:
            return
        self.problem = ""
        try:
            untried = chosen(session, [explained])
            if not untried:
                raise BenchtuiError("no finding has an option as its remedy that wasn't measured")
            if self._engine():
                raise BenchtuiError("the sweep is still running; remedies can be tried once it has ended")
            sweep = trial_sweep(session, untried)
            require_joinable(self.path(), session, sweep)
        except BenchtuiError as error:
            self.problem = str(error)
            return
        self._start(sweep)

    def _start(self, sweep: Sweep) -> None:
        if self._begun_s is not None:
            return
        self._begun_s, self.problem = time.monotonic(), ""
        threading.Thread(target=self._work, args=(sweep,), daemon=True).start()

    def _work(self, sweep: Sweep) -> None:
        try:
            self._measure(sweep)
        except PermissionNeededError as error:
            self.problem = self._question.refuse("remedies", error, lambda: self._start(sweep))
        except (BenchtuiError, OSError) as error:
            self.problem = str(error)
        finally:
            self._begun_s = None

    def _measure(self, sweep: Sweep) -> None:
        """Run the sweep to its end, and join what it measured to the session."""
        from benchtui.sessions.compare.joined import join_follow_up  # not needed for the first paint

        path = paths.new_path(sweep.name, datetime.now().astimezone())
        engine = client.start(sweep, path, self._question.consent, numbered=True)
        while engine.alive():
            time.sleep(CHECK_S)
        tried = Session.load(engine.path)
        if not join_follow_up(self.path(), engine.path, tried):
            raise BenchtuiError(f"no case was measured to its end; see {engine.path}")
        self.joined = Session.load(self.path(), metrics)


class Explainer:
    """Requests for profiles of one session's cases, and their outcomes."""

    def __init__(self, path: Path, engine: Callable[[], Engine | None]) -> None:
        """``engine`` returns the session's engine while it is running."""
        self.path = path
        self._engine = engine
        self.question = PermissionQuestion()
        self.remedies = RemedyTrials(lambda: self.path, engine, self.question)
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

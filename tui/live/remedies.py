"""Remedies of findings: measured next to their case by an engine of its own, then joined to the session."""

import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.library import paths
from benchtui.sessions.permissions.needed import PermissionNeededError
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import summarize
from benchtui.sessions.sweep import Sweep
from benchtui.tui.live.permission_question import PermissionQuestion

CHECK_S = 0.5
"""Seconds between two looks at whether the engine has ended."""


class RemedyTrials:
    """Requests to try the remedies of one session's cases, one after another, and their outcome."""

    def __init__(self, path: Path, engine: Callable[[], Engine | None], question: PermissionQuestion) -> None:
        """``engine`` returns the session's engine while it is running."""
        self._path = path
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

    def request(self, session: Session, explained: ExplainedCase) -> None:
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
            require_joinable(self._path, session, sweep)
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
        if not join_follow_up(self._path, engine.path, tried):
            raise BenchtuiError(f"no case was measured to its end; see {engine.path}")
        self.joined = Session.load(self._path, summarize)

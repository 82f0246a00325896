"""Engine requests: a status message and the call to make, or why it isn't possible."""

import time
from collections.abc import Callable
from functools import partial

import msgspec

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.needed import keys, needed_permissions
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, incompatible_reason, unsupported_reason
from benchtui.sessions.sweep.options import AXES
from benchtui.tui.live.feed import Clock, Feed
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import config_name

UNDO_S = 5.0
"""Seconds for which a drop or a skip can be undone, and for which undoing waits until the case has ended."""
RETRY_S = 0.1


class Request(msgspec.Struct, frozen=True):
    """A request to the engine."""

    message: str
    """Status message while the request is pending."""
    call: Callable[[], object]
    """Send the request and wait for the reply. Raises BenchtuiError if the engine refuses."""


class Removed(msgspec.Struct, frozen=True):
    """A case that was dropped or skipped."""

    case: int
    position: int
    """Position in the queue to which undoing returns it."""
    until_s: float
    """Time until which undoing is possible."""


class EngineRequests:
    """Builds requests to a session's engine. Each raises BenchtuiError if it isn't possible."""

    def __init__(self, feed: Feed, clock: Clock = time.monotonic) -> None:
        self._feed = feed
        self._clock = clock
        self._removed: Removed | None = None
        """The case that can be put back."""

    def build(self, what: str, case: CaseState | None) -> Request:
        """Return the request with this name, about the shown case."""
        requests: dict[str, Callable[[], Request]] = {
            "pause": self.pause,
            "skip": lambda: self.skip(case),
            "again": lambda: self.rerun(case),
            "drop": lambda: self.drop(case),
            "earlier": lambda: self.move(case, -1),
            "later": lambda: self.move(case, 1),
            "undo": self.undo,
        }
        return requests[what]()

    def stop(self) -> Request:
        """Stop the sweep."""
        return Request("stopping", self._engine.stop)

    def pause(self) -> Request:
        """Pause the queue, or resume it if it is paused."""
        if self._session.paused:
            return Request("resuming", self._engine.go_on)
        return Request("pausing: running cases finish first", self._engine.pause)

    def skip(self, case: CaseState | None) -> Request:
        """Skip a running case: the given one, or the newest if none is given."""
        running = self._session.running
        if not running:
            raise BenchtuiError("no case is running")
        one = case or running[-1]
        if one not in running:
            state = "queued" if one.state == "queued" else "not running"
            raise BenchtuiError(f"case {one.index + 1} is {state}: select a running case to skip it")
        return self._undoable(
            f"skipping case {one.index + 1}", partial(self._engine.skip, one.index), one.index
        )

    def rerun(self, case: CaseState | None) -> Request:
        """Run a case again that has ended, or that may get further rounds, at the end of the queue."""
        if case is None or (case.finished is None and not self._is_between_plans(case)):
            raise BenchtuiError("select a case that has ended; only ended cases can be rerun")
        index = case.index
        return Request(f"rerunning case {index + 1} at the end of the queue", lambda: self._engine.again(index))

    def drop(self, case: CaseState | None) -> Request:
        """Remove a pending case from the queue, or let a measured one have no further rounds."""
        pending = [queued.index for queued in self._session.pending]
        measured = case is not None and self._is_between_plans(case)
        index = case.index if case is not None and measured else self._pending(case)
        position = len(pending) if measured else pending.index(index)
        return self._undoable(
            f"dropping case {index + 1}", partial(self._engine.drop, [index]), index, position
        )

    def undo(self) -> Request:
        """Put the case that was dropped or skipped last back into the queue."""
        removed, self._removed = self._removed, None
        if removed is None or self._clock() > removed.until_s:
            raise BenchtuiError(f"nothing to undo: drops and skips can be undone for {UNDO_S:.0f} s")
        return Request(f"putting case {removed.case + 1} back into the queue", partial(self._restore, removed))

    def move(self, case: CaseState | None, places: int) -> Request:
        """Move a pending case earlier (negative) or later in the queue."""
        index = self._pending(case)
        pending = [queued.index for queued in self._session.pending]
        at = pending.index(index)
        to = min(max(at + places, 0), len(pending) - 1)
        pending.insert(to, pending.pop(at))
        first = pending[: max(at, to) + 1]
        word = f"moving case {index + 1} to position {to + 1} of {len(pending)} in the queue"
        return Request(word, lambda: self._engine.order(first))

    def add(self, words: str, base: Config | None) -> Request:
        """Add a case: options such as ``batch_size=64 precision=fp16``, applied on top of ``base``."""
        config = parse_options(words, base, self._session)
        return Request(f"adding {config_name(config)}", lambda: self._add(config, base))

    def _add(self, config: Config, base: Config | None) -> None:
        """Add a case. The user has typed, and so allows, what it sets in addition to ``base``."""
        engine, sweep = self._engine, self._session.start.sweep
        granted = needed_permissions(sweep, [base] if base else [])
        engine.add([config], keys(needed_permissions(sweep, [config])) - keys(granted))

    def _undoable(self, message: str, call: Callable[[], object], case: int, position: int = 0) -> Request:
        """Return a request that ends a case and, once the engine has agreed, remembers it for ``undo``."""

        def remove() -> None:
            call()
            self._removed = Removed(case, position, self._clock() + UNDO_S)

        return Request(f"{message}; {key('monitor.undo')}: undo", remove)

    def _restore(self, removed: Removed) -> None:
        """Queue a case again at its position. The engine may still be ending it. Raises BenchtuiError."""
        pending = [case.index for case in self._session.pending if case.index != removed.case]
        tries = int(UNDO_S / RETRY_S)
        for attempt in range(tries):
            try:
                again = self._engine.again(removed.case)
                break
            except BenchtuiError:
                if attempt + 1 == tries or not self._feed.running:
                    raise
                time.sleep(RETRY_S)
        self._engine.order([*pending[: removed.position], again])

    def _pending(self, case: CaseState | None) -> int:
        if case is None or case.state != "queued" or self._is_between_plans(case):
            raise BenchtuiError("select a case that is still queued")
        return case.index

    def _is_between_plans(self, case: CaseState) -> bool:
        """Return whether a case has all rounds that are planned, and may get further ones."""
        return any(measured.index == case.index for measured in self._session.between_plans)

    @property
    def _session(self) -> Session:
        return self._feed.session

    @property
    def _engine(self) -> Engine:
        if self._feed.engine is None or not self._feed.running:
            raise BenchtuiError("no engine is running this session")
        return self._feed.engine


def parse_options(words: str, base: Config | None, session: Session) -> Config:
    """Parse the options of a case to add. Raises BenchtuiError naming what is wrong with them."""
    from benchtui.sessions.sweep.toml_reader import (
        validate_config,  # lazy import: not needed for the first paint
    )

    if base is None:
        raise BenchtuiError("no case yet to base a new one on")
    options: dict[str, int | str] = {}
    for word in words.split():
        name, sign, value = word.partition("=")
        if not sign or name not in AXES:
            raise BenchtuiError(f"{word!r}: use option=value, where option is one of {', '.join(AXES)}")
        options[name] = int(value) if value.isdecimal() else value
    try:
        config = validate_config(msgspec.structs.replace(base, **options, repeat=0))
    except TypeError as error:
        raise BenchtuiError(str(error)) from error
    if reason := unsupported_reason(config) or incompatible_reason(config, session.start.sweep):
        raise BenchtuiError(reason)
    return config

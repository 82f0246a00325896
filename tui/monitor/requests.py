"""Engine requests: a status message and the call to make, or why it isn't possible."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, incompatible_reason, unsupported_reason
from benchtui.sessions.sweep.options import AXES
from benchtui.tui.live.feed import Feed


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the engine."""

    message: str
    """Status message while the request is pending."""
    call: Callable[[], object]
    """Send the request and wait for the reply. Raises BenchtuiError if the engine refuses."""


class EngineRequests:
    """Builds requests to a session's engine. Each raises BenchtuiError if it isn't possible."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def build(self, what: str, case: CaseState | None) -> Request:
        """Return the request with this name, about the shown case."""
        requests: dict[str, Callable[[], Request]] = {
            "pause": self.pause,
            "skip": lambda: self.skip(case),
            "again": lambda: self.rerun(case),
            "drop": lambda: self.drop(case),
            "earlier": lambda: self.move(case, -1),
            "later": lambda: self.move(case, 1),
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
        """Skip a running case. If the given one isn't running, skip the newest."""
        running = self._session.running
        if not running:
            raise BenchtuiError("no case is running")
        one = case if case is not None and case in running else running[-1]
        return Request(f"skipping case {one.index + 1}", lambda: self._engine.skip(one.index))

    def rerun(self, case: CaseState | None) -> Request:
        """Run an ended case again, at the end of the queue."""
        if case is None or case.finished is None:
            raise BenchtuiError("select a case that has ended; only ended cases can be rerun")
        index = case.index
        return Request(f"rerunning case {index + 1} at the end of the queue", lambda: self._engine.again(index))

    def drop(self, case: CaseState | None) -> Request:
        """Remove a pending case from the queue."""
        index = self._pending(case)
        return Request(f"dropping case {index + 1}", lambda: self._engine.drop([index]))

    def move(self, case: CaseState | None, places: int) -> Request:
        """Move a pending case earlier (negative) or later in the queue."""
        index = self._pending(case)
        pending = [each.index for each in self._session.pending]
        at = pending.index(index)
        to = min(max(at + places, 0), len(pending) - 1)
        pending.insert(to, pending.pop(at))
        first = pending[: max(at, to) + 1]
        word = f"moving case {index + 1} to position {to + 1} of {len(pending)} in the queue"
        return Request(word, lambda: self._engine.order(first))

    def add(self, words: str, base: Config | None) -> Request:
        """Add a case: options such as ``batch_size=64 precision=fp16``, applied on top of ``base``."""
        config = parse_options(words, base, self._session)
        return Request(f"adding {config.name}", lambda: self._engine.add([config]))

    def _pending(self, case: CaseState | None) -> int:
        if case is None or case.state != "queued":
            raise BenchtuiError("select a case that is still queued")
        return case.index

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

"""Shared values: one object for equal values of many cases, instead of one per case as decoded."""

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from benchtui.sessions.events import CasePrepared, CaseStarted
from benchtui.sessions.sweep import Config

_TEXTS = tuple(name for name, value in structs.asdict(Config(device="cpu")).items() if isinstance(value, str))
"""Options whose values are texts."""


class SharedValues:
    """Values seen so far. In a session of 100,000 cases, sharing them halves the memory of its events."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._prepared: CasePrepared | None = None
        """Previous event."""

    def __eq__(self, other: object) -> bool:
        """Return True for any other instance: shared values make no difference to the state of a session."""
        return isinstance(other, SharedValues)

    def plan(self, configs: Iterable[Config]) -> None:
        """Share the texts of a whole plan at once, so that the memory of their copies can be reused."""
        for config in configs:
            self._share_texts(config)

    def started(self, event: CaseStarted, planned: Config) -> CaseStarted:
        """Return the start of a case, with its configuration replaced by the planned one if they are equal."""
        self._share_texts(planned)
        return structs.replace(event, config=planned) if event.config == planned else event

    def prepared(self, event: CasePrepared) -> CasePrepared:
        """Return the event, sharing model, files and marks with the previous one if they are equal."""
        last, self._prepared = self._prepared, event
        if last is not None and _shared(last) == _shared(event):
            self._prepared = structs.replace(event, **_shared(last))
        return self._prepared

    def _share_texts(self, config: Config) -> None:
        """Replace the texts of a configuration with equal ones seen before. Nothing else changes."""
        known = self._texts
        for name in _TEXTS:
            text = getattr(config, name)
            shared = known.setdefault(text, text)
            if shared is not text:
                structs.force_setattr(config, name, shared)


def _shared(event: CasePrepared) -> dict[str, Any]:
    return {name: getattr(event, name) for name in ("model", "files", "marks")}

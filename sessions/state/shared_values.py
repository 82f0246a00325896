"""Shared values: one object for equal values of many cases, of which decoding makes a new one for each."""

from collections.abc import Iterable

from msgspec import structs

from benchtui.sessions.events import CasePrepared, CaseStarted
from benchtui.sessions.sweep import Config

_TEXTS = tuple(name for name, value in structs.asdict(Config(device="cpu")).items() if isinstance(value, str))
"""Options whose values are texts."""


class SharedValues:
    """Values seen so far. In a session of 100,000 cases, sharing them halves what its events take."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._prepared: CasePrepared | None = None
        """The event before."""

    def __eq__(self, other: object) -> bool:
        """Return True for all others: what they share makes no difference to the state of a session."""
        return isinstance(other, SharedValues)

    def plan(self, configs: Iterable[Config]) -> None:
        """Share the texts of a whole plan at once, so that the memory of their copies can be used again."""
        for config in configs:
            self._share_texts(config)

    def started(self, event: CaseStarted, planned: Config) -> CaseStarted:
        """Return the start of a case with the planned configuration in place of an equal one of its own."""
        self._share_texts(planned)
        return structs.replace(event, config=planned) if event.config == planned else event

    def prepared(self, event: CasePrepared) -> CasePrepared:
        """Return the event with model and marks of the one before, if they are equal."""
        last, self._prepared = self._prepared, event
        if last is not None and (last.model, last.marks) == (event.model, event.marks):
            self._prepared = structs.replace(event, model=last.model, marks=last.marks)
        return self._prepared

    def _share_texts(self, config: Config) -> None:
        """Replace the texts of a configuration by equal ones seen before, which changes nothing else."""
        known = self._texts
        for name in _TEXTS:
            text = getattr(config, name)
            shared = known.setdefault(text, text)
            if shared is not text:
                structs.force_setattr(config, name, shared)

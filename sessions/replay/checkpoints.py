"""Replay checkpoints: past states of a session, cheap to keep and restored from the whole session.

Append-only columns and lists are stored as lengths. Events, which never change, and finished cases are shared.
"""

from collections.abc import Iterable
from copy import copy, deepcopy
from typing import Any

import msgspec

from benchtui.sessions.events import CaseFinished, CaseRepeated, Phase
from benchtui.sessions.journal.reader import AnyRecord, FilePosition, Unknown
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Sizes, Trace
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session


class RecordedSession(Session):
    """Session that is being read for a replay. It doesn't change cases that a checkpoint shares."""

    def __init__(self) -> None:
        super().__init__()
        self.own: set[int] = set()
        """Cases that no checkpoint shares."""

    def apply(self, event: AnyRecord) -> None:
        """Apply one event."""
        if isinstance(event, CaseRepeated) or (
            isinstance(event, CaseFinished) and event.not_measured_further is not None
        ):
            self._case(event.case).copy_columns()  # drops steps that checkpoints refer to
        super().apply(event)

    def _case(self, index: int) -> CaseState:
        shared = super()._case(index)
        if index not in self.own:
            self.own.add(index)
            self.cases[index] = copy(shared)
            self.running = [self.cases[index] if case is shared else case for case in self.running]
        return self.cases[index]


class RestoredSession(Session):
    """Session restored from a checkpoint; a case shared with the whole session is copied before it changes.

    A case that ends as it did in the whole session is shared from then on.
    """

    def __init__(self, whole: RecordedSession) -> None:
        super().__init__()
        self._whole = whole
        self._own: set[int] = set()

    def apply(self, event: AnyRecord) -> None:
        """Apply one event."""
        super().apply(event)
        if isinstance(event, CaseFinished):
            own, other = self.cases[event.case], self._whole.cases[event.case]
            alike = _late(own) == _late(other)
            if alike and own.sizes() == other.sizes():
                self.cases[event.case] = other
                self._own.discard(event.case)

    def replace_case(self, case: CaseState) -> None:
        """Replace a case with one that isn't shared."""
        self.cases[case.index] = case
        self._own.add(case.index)

    def _case(self, index: int) -> CaseState:
        case = super()._case(index)
        if index not in self._own:
            case = case.prefix(case.sizes())
            self.replace_case(case)
        return case


def _late(case: CaseState) -> tuple[object, ...]:
    """Return the fields that events may still change after a case has ended."""
    return case.finished, case.comparison, case.explained


class TraceSnapshot(msgspec.Struct, frozen=True):
    """Readings up to a checkpoint."""

    trace: Trace
    count: int
    names: tuple[str, ...]


class MachineSnapshot(msgspec.Struct, frozen=True):
    """Machine as it was at a checkpoint."""

    kind: type[MachineState]
    attributes: dict[str, Any]


class CaseNumber(msgspec.Struct, frozen=True):
    """Reference to a case of the session by its number."""

    index: int


class Checkpoint(msgspec.Struct, frozen=True):
    """State of a session, and the position in its file."""

    position: FilePosition
    now_s: float
    cases: list[CaseState]
    sizes: dict[int, dict[Phase, Sizes]]
    """Sizes of the columns of the cases that had started, perhaps before a resume, and not ended. They keep
    growing."""
    ended: list[int]
    """Numbers of the ended cases, in the order of their end."""
    others: dict[str, Any]
    """All other attributes."""

    @classmethod
    def of(cls, whole: RecordedSession, position: FilePosition, ended: Iterable[CaseState]) -> "Checkpoint":
        """Capture the current state of a session, whose file has been read up to a position."""
        own = ("cases", "own")
        whole.own.clear()
        return cls(
            position,
            whole.now_s,
            list(whole.cases),
            {case.index: case.sizes() for case in whole.cases if _may_grow(case)},
            [case.index for case in ended],
            {name: _stored(value) for name, value in vars(whole).items() if name not in own},
        )

    def restore(self, whole: RecordedSession) -> RestoredSession:
        """Restore the session. Cases that had started and not ended are copied, the others are shared."""
        session = RestoredSession(whole)
        session.cases = list(self.cases)
        for index, sizes in self.sizes.items():
            session.replace_case(self.cases[index].prefix(sizes))
        vars(session).update({name: _restore(value, session.cases) for name, value in self.others.items()})
        return session


def _may_grow(case: CaseState) -> bool:
    """Return whether a case that hasn't ended has started, or had steps before a resume."""
    return case.finished is None and (case.started is not None or bool(case.sizes()))


def _stored(value: Any) -> Any:  # noqa: ANN401 any attribute of a session
    """Convert an attribute to the form stored in a checkpoint."""
    match value:
        case CaseState():
            return CaseNumber(value.index)
        case Trace():
            return TraceSnapshot(value, len(value.at_s), tuple(value.columns))
        case MachineState():
            return MachineSnapshot(type(value), _stored(vars(value)))
        case list():
            return [_stored(item) for item in value]
        case dict():
            return {key: _stored(item) for key, item in value.items()}
        case msgspec.Struct() | Unknown() | str() | int() | float() | None:
            return value
    return deepcopy(value)


def _restore(kept: Any, cases: list[CaseState]) -> Any:  # noqa: ANN401
    """Restore an attribute from its stored form."""
    match kept:
        case CaseNumber():
            return cases[kept.index]
        case TraceSnapshot():
            return kept.trace.prefix(kept.count, kept.names)
        case MachineSnapshot():
            return kept.kind(**_restore(kept.attributes, cases))
        case list():
            return [_restore(item, cases) for item in kept]
        case dict():
            return {key: _restore(item, cases) for key, item in kept.items()}
        case msgspec.Struct() | Unknown() | str() | int() | float() | None:
            return kept
    return deepcopy(kept)

"""Checkpoints of a fold: a session as it was, kept for next to nothing, and made again from the whole one.

What only grows is kept as a length; events never change; a case that has ended is shared.
"""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass

from benchtui.sessions.events import CaseFinished, CaseRepeated, Phase
from benchtui.sessions.journal import Read, Spot
from benchtui.sessions.session import CaseState, Session, Sizes, Trace


class Whole(Session):
    """A session being folded, which leaves alone what its checkpoints share with it."""

    def __init__(self) -> None:
        super().__init__()
        self.untouched: list[CaseState] = []
        """The cases as they were planned; empty before the first is touched."""
        self.touched: set[int] = set()
        """Cases that events have spoken of since this was last emptied."""

    def apply(self, event: Read) -> None:
        """Fold one event."""
        if isinstance(event, CaseRepeated):
            self._renew(self._case(event.case))  # its steps are dropped, and checkpoints may count on them
        super().apply(event)

    def _case(self, index: int) -> CaseState:
        case = super()._case(index)
        self.touched.add(index)
        self.untouched += self.cases[len(self.untouched) :]
        shared = case is self.untouched[index] or case.finished is not None
        return self._renew(case) if shared else case

    def _renew(self, case: CaseState) -> CaseState:
        """Go on with a copy of a case."""
        renewed = self.cases[case.index] = case.first(case.sizes())
        self.current = renewed if self.current is case else self.current
        return renewed


class Retold(Session):
    """A session made from a checkpoint; a case that it shares with the whole one is copied before it changes.

    A case that ends as it did in the whole session is shared from then on.
    """

    def __init__(self, whole: Whole) -> None:
        super().__init__()
        self._whole = whole
        self._own: set[int] = set()

    def apply(self, event: Read) -> None:
        """Fold one event."""
        super().apply(event)
        if isinstance(event, CaseFinished):
            own, other = self.cases[event.case], self._whole.cases[event.case]
            if own.finished == other.finished and own.sizes() == other.sizes():
                self.cases[event.case] = other
                self._own.discard(event.case)

    def take_over(self, case: CaseState) -> None:
        """Put a case in its place that nobody else has."""
        self.cases[case.index] = case
        self._own.add(case.index)

    def _case(self, index: int) -> CaseState:
        case = super()._case(index)
        if index not in self._own:
            case = case.first(case.sizes())
            self.take_over(case)
        return case


@dataclass(frozen=True, slots=True)
class CaseCut:
    """A case as it was at a checkpoint."""

    case: CaseState
    sizes: dict[Phase, Sizes] | None
    """How long its columns were, which go on to grow; None for a case that has ended."""

    @classmethod
    def of(cls, case: CaseState) -> "CaseCut":
        """The case as it is now."""
        return cls(case, None) if case.finished else cls(copy(case), case.sizes())

    def restore(self, session: Retold) -> None:
        """Put the case in its place in a session."""
        if self.sizes is None:
            session.cases[self.case.index] = self.case
        else:
            session.take_over(self.case.first(self.sizes))


@dataclass(frozen=True, slots=True)
class TraceCut:
    """Readings up to a checkpoint."""

    trace: Trace
    count: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace) -> "TraceCut":
        """The readings so far."""
        return cls(trace, len(trace.at_s), tuple(trace.columns))

    def restore(self) -> Trace:
        """A trace with those readings alone."""
        return self.trace.first(self.count, self.names)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A session as it was, but for its cases, and where its file goes on."""

    spot: Spot
    now_s: float
    ended: int
    """How many cases had ended."""
    cases: int
    """How many cases there were."""
    current: int | None
    host: TraceCut
    gpus: dict[int, TraceCut]
    others: dict[str, object]
    """All other attributes."""

    @classmethod
    def of(cls, whole: Whole, spot: Spot, ended: int) -> "Checkpoint":
        """The session as it is now, its file read up to a spot."""
        return cls(
            spot=spot,
            now_s=whole.now_s,
            ended=ended,
            cases=len(whole.cases),
            current=whole.current.index if whole.current else None,
            host=TraceCut.of(whole.host),
            gpus={index: TraceCut.of(trace) for index, trace in whole.gpus.items()},
            others=_copied(whole, without=("cases", "current", "host", "gpus", "untouched", "touched")),
        )

    def restore(self, whole: Whole, cuts: Iterable[CaseCut]) -> Retold:
        """The session as it was: with the cases that had been touched by then, and the others as planned."""
        session = Retold(whole)
        vars(session).update({name: _own(value) for name, value in self.others.items()})
        session.host = self.host.restore()
        session.gpus = {index: cut.restore() for index, cut in self.gpus.items()}
        session.cases = (whole.untouched or whole.cases)[: self.cases]
        for cut in cuts:
            cut.restore(session)
        session.current = None if self.current is None else session.cases[self.current]
        return session


def _copied(session: Session, without: Iterable[str]) -> dict[str, object]:
    return {name: _own(value) for name, value in vars(session).items() if name not in without}


def _own(value: object) -> object:
    """What an attribute is kept as: the events in it never change, a container does."""
    return copy(value) if isinstance(value, list | dict | set) else value

"""Reads a session file in slices, so that other threads get their turn while a long one is read."""

from collections.abc import Callable
from contextlib import closing
from copy import copy
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CaseRepeated, Steps, Telemetry
from benchtui.sessions.journal import reader
from benchtui.sessions.journal.reader import FilePosition, Read, Tail
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session

SLICE_BYTES = 2**18
"""Decoding a whole file at once would hold the interpreter for as long as that takes."""


class AbandonedError(BenchtuiError):
    """Reading was given up, since nobody waits for it any more."""


def load(
    path: Path,
    apply: Callable[[Session, Read], None] = Session.apply,
    wanted: Callable[[], bool] = lambda: True,
) -> Session:
    """Fold a whole session file as ``Session.load`` does, and let other threads run meanwhile.

    ``apply`` folds an event in the place of ``Session.apply``; ``wanted`` is asked at every slice.

    Raises:
        AbandonedError: once it isn't wanted any more.
        BenchtuiError: where it can't be read.
    """
    session = Session()
    try:
        with closing(reader.slices(path, SLICE_BYTES)) as slices:
            for events, torn in slices:
                session.torn = torn
                if not wanted():
                    raise AbandonedError(f"{path}: not read to its end")
                for event in events:
                    apply(session, event)
    except AbandonedError:
        raise
    except BenchtuiError:
        return Session.load(path)  # a file whose lines another tool laid out anew is read as a whole
    return session if session.started else Session.load(path)


def read_again(
    case: CaseState,
    machine: MachineState,
    path: Path,
    position: FilePosition,
    wanted: Callable[[], bool] = lambda: True,
) -> tuple[CaseState, MachineState]:
    """A case that has ended with all its steps, and its machine with the readings meanwhile, as copies.

    The file tells of both from the spot on. ``wanted`` is asked at every slice; when it says no, the rest isn't
    read any more.

    Raises:
        BenchtuiError: where the file can't be read any more.
    """
    whole, there = copy(case), machine.unread()
    whole.forget_steps()
    tail = Tail(path, position)
    try:
        while wanted() and not tail.at_end:
            for event in tail.read(SLICE_BYTES):
                _take_in(whole, there, event)
                if isinstance(event, CaseFinished) and event.case == case.index:
                    return whole, there
    finally:
        tail.close()
    return whole, there


def _take_in(case: CaseState, machine: MachineState, event: Read) -> None:
    match event:
        case Steps() if event.case == case.index:
            case.columns(event.phase).extend(event)
        case CaseRepeated() if event.case == case.index:
            case.drop(event.round)
        case Telemetry() if event.node == case.node:
            machine.told(event, again=False)

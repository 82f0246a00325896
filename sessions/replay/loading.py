"""Loading of session files in slices, so that other threads can run in between."""

from collections.abc import Callable
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import TypeVar

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CaseRepeated, Steps, Telemetry
from benchtui.sessions.journal import reader
from benchtui.sessions.journal.reader import AnyRecord, FilePosition, Tail
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session

S = TypeVar("S", bound=Session)

SLICE_BYTES = 2**18
"""Bytes per slice; decoding a whole file at once would hold the GIL all that time."""


class AbandonedError(BenchtuiError):
    """Raised when reading is abandoned because the result is no longer wanted."""


def load(path: Path, wanted: Callable[[], bool] = lambda: True) -> Session:
    """Load a whole session file as ``Session.load`` does, and let other threads run in between.

    ``wanted`` is called for every slice.

    Raises:
        AbandonedError: Once ``wanted`` returns False.
        BenchtuiError: If the file can't be read.
    """
    return load_as(Session, path, wanted)


def load_as(kind: type[S], path: Path, wanted: Callable[[], bool] = lambda: True) -> S:
    """Load a session file as ``load`` does, as a subclass of Session whose ``apply`` differs."""
    session = kind()
    try:
        with closing(reader.slices(path, SLICE_BYTES)) as slices:
            for events, torn in slices:
                session.torn = torn
                if not wanted():
                    raise AbandonedError(f"{path}: reading was abandoned")
                for event in events:
                    session.apply(event)
    except AbandonedError:
        raise
    except BenchtuiError:
        return kind.load(path)  # reformatted by another tool: read it as a whole
    return session if session.started else kind.load(path)


def reload_case(
    case: CaseState,
    machine: MachineState,
    path: Path,
    position: FilePosition,
    wanted: Callable[[], bool] = lambda: True,
) -> tuple[CaseState, MachineState]:
    """Reload an ended case with all its steps, and its machine with the readings of that time, as copies.

    Both are read from ``position`` on. ``wanted`` is called for every slice; once it returns False, the rest of
    the file isn't read.

    Raises:
        BenchtuiError: If the file can no longer be read.
    """
    whole, there = copy(case), machine.without_readings()
    whole.drop_steps()
    tail = Tail(path, position)
    try:
        while wanted() and not tail.at_end:
            for event in tail.read(SLICE_BYTES):
                _apply_to_case(whole, there, event)
                if isinstance(event, CaseFinished) and event.case == case.index:
                    return whole, there
    finally:
        tail.close()
    return whole, there


def _apply_to_case(case: CaseState, machine: MachineState, event: AnyRecord) -> None:
    match event:
        case Steps() if event.case == case.index:
            case.columns(event.phase).extend(event)
        case CaseRepeated() if event.case == case.index:
            case.drop_from_round(event.round)
        case Telemetry() if event.node == case.node:
            machine.apply(event, resumed=False)

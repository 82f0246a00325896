"""One case with its machine's readings, read once more from its session file after they were let go of."""

from collections.abc import Callable
from copy import copy
from pathlib import Path

from benchtui.sessions.events import CaseFinished, CaseRepeated, Steps, Telemetry
from benchtui.sessions.journal.journal import Read, Spot, Tail
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.machine import MachineState

SLICE_BYTES = 2**18


def read_again(
    case: CaseState, machine: MachineState, path: Path, spot: Spot, wanted: Callable[[], bool] = lambda: True
) -> tuple[CaseState, MachineState]:
    """A case that has ended with all its steps, and its machine with the readings meanwhile, as copies.

    The file tells of both from the spot on. ``wanted`` is asked at every slice; when it says no, the rest isn't
    read any more.

    Raises:
        BenchtuiError: where the file can't be read any more.
    """
    whole, there = copy(case), machine.unread()
    whole.forget_steps()
    tail = Tail(path, spot)
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

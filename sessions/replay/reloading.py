"""Reloading of an ended case from the session file, once its steps were evicted."""

from collections.abc import Callable
from copy import copy
from pathlib import Path

from benchtui.sessions.events import CaseFinished, CaseRepeated, Steps, Telemetry
from benchtui.sessions.journal.reader import SLICE_BYTES, FilePosition, Tail
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.machine import MachineState


def reload_case(
    case: CaseState,
    machine: MachineState,
    path: Path,
    position: FilePosition,
    wanted: Callable[[], bool] = lambda: True,
) -> tuple[CaseState, MachineState]:
    """Reload an ended case with all its steps, and its machine with the readings of that time, as copies.

    Both are read from ``position`` on. ``wanted`` is called for every slice; once it returns False, the rest of
    the file isn't read. Raises BenchtuiError if the file can no longer be read.
    """
    whole, there = copy(case), machine.without_readings()
    whole.drop_steps()
    tail = Tail(path, position)
    try:
        while wanted() and not tail.at_end:
            for event in tail.read(SLICE_BYTES):
                match event:
                    case Steps() if event.case == case.index:
                        whole.columns(event.phase).extend(event)
                    case CaseRepeated() if event.case == case.index:
                        whole.drop_from_round(event.round)
                    case Telemetry() if event.node == case.node:
                        there.apply(event, resumed=False)
                    case CaseFinished() if event.case == case.index:
                        return whole, there
    finally:
        tail.close()
    return whole, there

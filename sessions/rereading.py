"""The steps of one case, read once more from its session file after they were let go of."""

from collections.abc import Callable
from copy import copy
from pathlib import Path

from benchtui.sessions.case_state import CaseState
from benchtui.sessions.events import CaseFinished, CaseRepeated, Steps
from benchtui.sessions.journal import Read, Spot, Tail

SLICE_BYTES = 2**18


def with_steps(case: CaseState, path: Path, spot: Spot, wanted: Callable[[], bool] = lambda: True) -> CaseState:
    """A copy of a case that has ended, with all its steps, which the file tells from this spot on.

    ``wanted`` is asked at every slice; when it says no, the rest isn't read any more.

    Raises:
        BenchtuiError: where the file can't be read any more.
    """
    whole = copy(case)
    whole.forget_steps()
    tail = Tail(path, spot)
    try:
        while wanted() and not tail.at_end:
            for event in tail.read(SLICE_BYTES):
                _take_in(whole, event)
                if isinstance(event, CaseFinished) and event.case == case.index:
                    return whole
    finally:
        tail.close()
    return whole


def _take_in(case: CaseState, event: Read) -> None:
    if isinstance(event, Steps) and event.case == case.index:
        case.columns(event.phase).extend(event)
    elif isinstance(event, CaseRepeated) and event.case == case.index:
        case.drop(event.round)

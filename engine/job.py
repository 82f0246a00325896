"""What a worker is given to do, and what it tells beside the events of the session."""

from benchtui.sessions.payloads import Work
from benchtui.sessions.sweep import Config, Record, Sweep

REPORT_S = 0.1
"""How often a worker tells of its steps, where no others do at the same time."""


class Job(Record, frozen=True, kw_only=True):
    """One case, with what its worker needs to know of the session."""

    case: int
    config: Config
    sweep: Sweep
    zero_s: float
    """Monotonic clock at the session's start: both sides count from there. The station puts in its own."""
    scratch: str
    """A folder for compiler caches, removed at the session's end; the station puts it into one of its own."""
    round: int = 0
    report_s: float = REPORT_S
    """Steps travel in columns, an event in so many seconds at most. The station puts in its own."""


class StepCost(Record, tag_field="event", tag="examined", frozen=True, kw_only=True):
    """What looking at a step came to, told after the case's end: it can't change how the case ended."""

    work: Work

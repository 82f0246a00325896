"""Worker job: what a worker runs, and what it reports in addition to session events."""

from benchtui.sessions.events import Peaks
from benchtui.sessions.payloads import StepCost
from benchtui.sessions.sweep import Config, Record, Sweep

REPORT_S = 0.1
"""Interval in seconds at which a worker reports its steps, unless other nodes report too."""
TEARDOWN_S = 20.0
"""Seconds a worker may take to exit after reporting its outcome. Also applies after a kill, since a driver may
take seconds to free the worker's memory."""
STEP_COST_S = 40.0
"""Seconds a worker may take to measure a step's cost after a successful case, and to exit."""
ANSWER_S = 40.0
"""Seconds a worker may take to answer the probe after a successful case, in addition."""
THROUGHPUT_BLOCK = 16
"""Steps between two synchronizations in throughput mode."""


class AnsweredCase(Record, frozen=True, kw_only=True):
    """Case that has answered the probe, with the options that decide which baseline it has."""

    index: int
    config: Config


class Job(Record, frozen=True, kw_only=True):
    """One case, with what its worker needs to know about the session."""

    case: int
    config: Config
    sweep: Sweep
    zero_s: float
    """Monotonic clock at the start of the session: time zero for both sides. The node sets its own."""
    scratch: str
    """Folder for compiler caches, removed at the end of the session. The node puts it in its scratch folder."""
    round: int = 0
    baseline: AnsweredCase | None = None
    """Case that this one's answer is compared with, if it has been measured; null if none has yet."""
    explain: bool = False
    """Whether to profile the case's step instead of measuring the case."""
    trace: str = ""
    """File for the profiler's own trace; empty for none."""
    report_s: float = REPORT_S
    """Minimum seconds between two events of steps, which are sent as columns. Set by the node."""


class StepCostReport(Record, tag_field="event", tag="examined", frozen=True, kw_only=True):
    """Cost of one step, reported after the end of the case so that it can't change the outcome."""

    work: StepCost


class PeaksReport(Record, tag_field="event", tag="peaks_report", frozen=True, kw_only=True):
    """Peaks of a device, and when the process that measured them was idle with a context on a GPU."""

    peaks: Peaks
    gpu_uuid: str | None = None
    """None on a CPU, and if torch doesn't report it."""
    idle_span_s: tuple[float, float] | None = None
    """Begin and end by this machine's monotonic clock. None on a CPU, and if not requested."""
    busy_span_s: tuple[float, float] | None = None
    """The same for measuring the peaks."""

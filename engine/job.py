"""Worker job: what a worker runs, and what it reports in addition to session events."""

from benchtui.sessions.events import (
    Answered,
    CaseFinished,
    CasePrepared,
    Explained,
    Idle,
    Message,
    Peaks,
    Runtime,
    Steps,
)
from benchtui.sessions.payloads import CaseRound, StepCost
from benchtui.sessions.sweep import Config, Record, Sweep

WorkerEvent = CasePrepared | Steps | Answered | Explained | CaseFinished
"""Events of a running case."""
PreflightEvent = Idle | Runtime | Peaks | Message
"""Events about a node before the first case."""

REPORT_S = 0.1
"""Interval in seconds at which a worker reports its steps. It is longer if many nodes report."""
TEARDOWN_S = 20.0
"""Seconds a worker may take to exit after reporting its outcome. Also applies after a kill, since a driver may
take seconds to free the worker's memory."""
SEARCH_S = 1.0
"""Seconds a worker may take to find a batch of a given size."""
STEP_COST_S = 40.0
"""Seconds a worker may take to measure a step's cost after a successful case, and to exit."""
ANSWER_S = 40.0
"""Additional seconds a worker may take to answer the probe after a successful case."""
THREADS_S = 2.0
"""Seconds that a worker which has reported everything waits for threads that the step left running."""
THROUGHPUT_BLOCK = 16
"""Steps between two synchronizations in throughput mode."""


class AnsweredCase(Record, frozen=True, kw_only=True):
    """Case that has answered the probe, with the options that determine its baseline."""

    index: int
    config: Config


class TurnOrder(Record, frozen=True, kw_only=True):
    """Cases that take turns, and a worker's place among them."""

    rounds: tuple[CaseRound, ...]
    """The worker's own round and those of the others, in the order of their turns and starts."""
    place: int
    """Index of its own round."""


class Job(Record, frozen=True, kw_only=True):
    """One case, with the session data that its worker needs."""

    case: int
    config: Config
    sweep: Sweep
    zero_s: float
    """Monotonic clock at the start of the session: time zero for both sides. The node sets its own value."""
    scratch: str
    """Folder for compiler caches, removed at the end of the session. The node puts it in its scratch folder."""
    round: int = 0
    turns: TurnOrder | None = None
    """Null for a case that is measured alone."""
    enough_percent: float = 0.0
    """Error of the round that suffices for ``iterations = "auto"``, in percent of the median."""
    baseline: AnsweredCase | None = None
    """Measured case that this case's answer is compared with; null if it hasn't been measured yet."""
    spot_check: bool = False
    """Whether the case answers even if one that differs only in size has: none of these is larger."""
    explain: bool = False
    """Whether to profile the case's step instead of measuring the case."""
    trace: str = ""
    """Output file for the profiler's trace; empty for none."""
    report_s: float = REPORT_S
    """Minimum seconds between two ``steps`` events. Set by the node."""


class StepCostReport(Record, tag_field="event", tag="examined", frozen=True, kw_only=True):
    """Cost of one step, reported after the end of the case so that it can't change the outcome."""

    work: StepCost


class LeftThreads(Record, tag_field="event", tag="left_threads", frozen=True, kw_only=True):
    """Threads of the step that don't end, reported by a worker just before it exits without them."""

    count: int


class PeaksReport(Record, tag_field="event", tag="peaks_report", frozen=True, kw_only=True):
    """Peaks of a device, with the spans in which the measuring process was idle and busy on a GPU."""

    peaks: Peaks
    gpu_uuid: str | None = None
    """None on a CPU, and if torch doesn't report it."""
    idle_span_s: tuple[float, float] | None = None
    """Span in which the process was idle with a context on the GPU: start and end on this machine's monotonic
    clock. None on a CPU or if not requested."""
    busy_span_s: tuple[float, float] | None = None
    """Span in which the peaks were measured."""

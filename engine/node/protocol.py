"""What an engine and a station in another process say to each other: a line of JSON a message, either way.

Beside what stands here the station sends the events of the session. Times are those of the station's clock.
"""

import msgspec

from benchtui.engine.job import Job
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.events import (
    CaseFinished,
    CasePrepared,
    Idle,
    Message,
    Outcome,
    Peaks,
    Runtime,
    Steps,
    Telemetry,
)
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Record


class NodeMessage(Record, tag_field="event", frozen=True, kw_only=True):
    """What all messages share."""


class Ping(NodeMessage, tag="ping", frozen=True, kw_only=True):
    """Asks for the time there."""

    at_s: float
    """The engine's monotonic clock."""


class OpenNode(NodeMessage, tag="open", frozen=True, kw_only=True):
    """Begin to read the machine, and get ready for cases."""

    zero_s: float
    """The station's monotonic clock at the session's start."""
    env: dict[str, str] = {}  # noqa: RUF012 msgspec copies a mutable default
    dataset: str
    """What the texts of the cases are read from."""
    node: str
    """What the session calls the station's machine."""
    folder: str
    """The engine's working folder: the station's too, where there is one of that name."""
    report_s: float
    """Between two events of steps, and of readings, as far as these don't come less often anyway."""


class Prepare(NodeMessage, tag="prepare", frozen=True, kw_only=True):
    """Learn what the machine draws while idle, and what torch says of it; answered with events and Done."""


class Measure(NodeMessage, tag="measure", frozen=True, kw_only=True):
    """Measure what devices do at most; answered with events and Done."""

    peaks: tuple[PeakKey, ...]


class Start(NodeMessage, tag="start", frozen=True, kw_only=True):
    """Run a case; answered with its events, CaseFinished the last."""

    job: Job


class End(NodeMessage, tag="end", frozen=True, kw_only=True):
    """Kill a case, unless it has ended."""

    case: int
    outcome: Outcome
    reason: str


class Hello(NodeMessage, tag="hello", frozen=True, kw_only=True):
    """The first message of a station."""

    version: str
    """Of benchtui."""
    host: Host
    visible: str | None = None
    """Which GPUs measured processes may use there; null for all."""
    nice: int = 0
    """By how much its processes let others go first."""


class Pong(NodeMessage, tag="pong", frozen=True, kw_only=True):
    """The time there."""

    at_s: float
    """What the ping said."""
    here_s: float
    """The station's monotonic clock."""


class TaskDone(NodeMessage, tag="done", frozen=True, kw_only=True):
    """All has been said that was asked for by Prepare or Measure."""


NodeCommand = Ping | OpenNode | Prepare | Measure | Start | End
"""What an engine says."""
NodeEvent = (
    Hello | Pong | TaskDone | Telemetry | Idle | Runtime | Peaks | Message | CasePrepared | Steps | CaseFinished
)
"""What a station says."""

orders = msgspec.json.Decoder(NodeCommand)
reports = msgspec.json.Decoder(NodeEvent)

"""Node protocol: commands and events between the engine and a node agent, one JSON line each.

The agent also sends session events. All times are on the node's clock.
"""

import msgspec

from benchtui.engine.job import REPORT_S, Job, PreflightEvent, WorkerEvent
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.events import Outcome, Telemetry
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import SYNTHETIC, Record


class NodeMessage(Record, tag_field="event", frozen=True, kw_only=True):
    """Base class of all messages."""


class Ping(NodeMessage, tag="ping", frozen=True, kw_only=True):
    """Request the node's clock; answered with ``Pong``."""

    at_s: float
    """Monotonic clock of the engine."""


class OpenNode(NodeMessage, tag="open", frozen=True, kw_only=True):
    """Start sampling the machine and prepare for cases."""

    zero_s: float
    """Monotonic clock of the node at the session's start."""
    env: dict[str, str] = {}  # noqa: RUF012 msgspec copies a mutable default
    """Environment variables of the measured processes."""
    dataset: str = SYNTHETIC
    """Dataset that the cases read their texts from."""
    node: str | None = None
    """Name of the node in the session; null for the engine's machine."""
    folder: str = "."
    """Working directory of the engine. The agent uses it too if it exists there."""
    report_s: float = REPORT_S
    """Minimum seconds between two ``steps`` events of a case, and between two ``telemetry`` events."""
    idle_s: float = 0.0
    """Seconds to observe the machine before the first case; 0 for no longer than its power needs."""


class Prepare(NodeMessage, tag="prepare", frozen=True, kw_only=True):
    """Read the idle machine and query torch; answered with events, then ``TaskDone``."""


class Measure(NodeMessage, tag="measure", frozen=True, kw_only=True):
    """Measure device peaks; answered with events, then ``TaskDone``."""

    peaks: tuple[PeakKey, ...]


class Start(NodeMessage, tag="start", frozen=True, kw_only=True):
    """Run a case; answered with its events, the last of them ``CaseFinished``."""

    job: Job


class End(NodeMessage, tag="end", frozen=True, kw_only=True):
    """Kill a case if it is still running."""

    case: int
    outcome: Outcome
    reason: str


class Hello(NodeMessage, tag="hello", frozen=True, kw_only=True):
    """First message of a node agent."""

    version: str
    """Version of benchtui."""
    host: Host
    visible: str | None = None
    """``CUDA_VISIBLE_DEVICES`` of the node; null if unset, which makes all GPUs visible."""
    nice: int = 0
    """Nice value of the node's processes."""


class Pong(NodeMessage, tag="pong", frozen=True, kw_only=True):
    """Answer to ``Ping``, with the node's clock."""

    at_s: float
    """``at_s`` of the ``Ping``."""
    here_s: float
    """Monotonic clock of the node."""


class TaskDone(NodeMessage, tag="done", frozen=True, kw_only=True):
    """End of the answer to ``Prepare`` or ``Measure``."""


NodeCommand = Ping | OpenNode | Prepare | Measure | Start | End
"""Messages from the engine to a node."""
NodeEvent = Hello | Pong | TaskDone | Telemetry | PreflightEvent | WorkerEvent
"""Messages from a node to the engine."""

command_decoder = msgspec.json.Decoder(NodeCommand)
event_decoder = msgspec.json.Decoder(NodeEvent)

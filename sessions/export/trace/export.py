"""Export of a session as a trace: cases, steps, readings and other events, on one time axis.

The file is read twice: once to collect machines, outliers and the number of steps, and again while the trace is
written. Neither all steps nor the whole trace are ever in memory.
"""

from pathlib import Path
from typing import IO

import msgspec
import numpy as np

from benchtui.sessions.events import Steps
from benchtui.sessions.export.step_export import Events, StepIndex, surveyed
from benchtui.sessions.export.trace.session_trace import SessionTrace
from benchtui.sessions.export.trace.writer import TraceWriter
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import simulation_note
from benchtui.sessions.stats.evidence import outliers_of, summarize

MOST_STEPS = 100_000
"""Default maximum number of steps drawn one by one: about 50 MB, which Perfetto opens in seconds."""
STEP_TIMES = (
    "lengths of steps are measured, their starts are not: steps are placed back to back, and each batch of them"
    " ends when it was recorded"
)


class RecordedTrace(msgspec.Struct, frozen=True):
    """A session and the facts required before its trace can be written."""

    events: Events
    session: Session
    """State at the end, without steps."""
    steps: int
    """Number of recorded steps, including warm-up and repeated rounds."""
    index: StepIndex


def load_trace(path: Path) -> RecordedTrace:
    """Prepare a session file for ``write_trace``. Raises BenchtuiError if it can't be read."""
    return surveyed(path, _survey)


def write_trace(recorded: RecordedTrace, out: IO[bytes], most_steps: int = MOST_STEPS) -> None:
    """Write a session as a trace.

    Args:
        recorded: What ``load_trace`` returned.
        out: File to write to.
        most_steps: With more steps than this, consecutive ones are drawn as one slice.
    """
    merge = max(1, -(-recorded.steps // most_steps))
    writer = TraceWriter(out, _facts(recorded.session, merge))
    odd = {case.index: np.asarray(outliers_of(case)) for case in recorded.session.cases}
    trace = SessionTrace(recorded.session, recorded.index, writer, merge, odd)
    for position, event in enumerate(recorded.events()):
        trace.write(position, event)
    trace.close()
    writer.close()


def _survey(events: Events) -> RecordedTrace:
    session, index, steps = Session(summarize), StepIndex(), 0
    for position, event in enumerate(events()):
        session.apply(event)
        index.add(position, event)
        if isinstance(event, Steps):
            steps += len(event.wall_ms)
    session.start  # noqa: B018 - raises if it is missing
    return RecordedTrace(events, session, steps, index)


def _facts(session: Session, merge: int) -> dict[str, str | int]:
    """Return the metadata of the trace."""
    start = session.start
    facts = {
        "session": start.id,
        "sweep": start.sweep.name,
        "created": start.created,
        "benchtui": start.version,
        "source": start.source,
        "simulated": simulation_note(start),
        "step times": STEP_TIMES,
        "steps per slice": merge if merge > 1 else None,
    }
    return {name: value for name, value in facts.items() if value is not None}

"""Sweep progress as plain text for stderr, and results as JSON lines."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchtui.engine.client import Engine
from benchtui.sessions.analysis.roofline import limit
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.memory import MemoryForecast
from benchtui.sessions.events import (
    CaseAdded,
    CaseFinished,
    CaseStarted,
    Continued,
    Event,
    Message,
    NodeJoined,
    NodeLost,
    OrderChanged,
    Paused,
    Resumed,
    RoundsPlanned,
    SessionStarted,
    Steps,
)
from benchtui.sessions.export.case_rows import case_row
from benchtui.sessions.journal.backup import current_path
from benchtui.sessions.journal.reader import AnyRecord, Tail
from benchtui.sessions.payloads import Host
from benchtui.sessions.replay.markers import Markers, TimelineEvent, marker_text
from benchtui.sessions.replay.timeline import Timeline
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.state.case import OUT_OF_BUDGET, CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled
from benchtui.sessions.stats.case_metrics import Metrics, metrics
from benchtui.sessions.stats.results import measured
from benchtui.sessions.text.formatting import (
    count,
    half_width,
    loss,
    memory,
    not_measured_further,
    number,
    time_ms,
)
from benchtui.tui.cli.schema.records import MeasuredCaseJson
from benchtui.tui.drawing.format import counted
from benchtui.tui.replay.player import ReplayTarget

_POLL_S = 0.25
_BATCH_BYTES = 1 << 16
_NEW_FILE_TIMEOUT_S = 2.0
MOST_WITH_INTERVALS = 300
"""Cases of the largest session whose lines have an interval over processes: it needs all rounds."""


def follow(engine: Engine, session: Session) -> Iterator[AnyRecord]:
    """Apply a running engine's journal to the session, and yield the engine's own events as they arrive.

    Events from before the engine resumed the session are applied but not yielded.
    """
    resumed_s = engine.resumed_s
    is_new = resumed_s is None
    for event in apply_events(engine.path, engine, session):
        is_new = is_new or (isinstance(event, Resumed) and event.t == resumed_s)
        if is_new:
            yield event


def apply_events(path: Path, engine: Engine | None, session: Session) -> Iterator[AnyRecord]:
    """Apply and yield a journal's events, following the file while an engine writes it."""
    tail = Tail(path)
    try:
        while session.finished is None or not tail.at_end:
            alive = engine is not None and engine.alive()  # check first, so no event of a dying engine is lost
            try:
                events = tail.read(_BATCH_BYTES)
            except BenchtuiError:
                if not (alive and _wait_for_new_file(tail)):
                    raise
                continue
            for event in events:
                session.apply(event)
                yield event
            for machine in session.machines:
                machine.drop_before(session.now_s)  # telemetry isn't printed
            if not events:
                if not tail.at_end:
                    continue
                if not alive:
                    return
                time.sleep(_POLL_S)
    finally:
        tail.close()


def _wait_for_new_file(tail: Tail) -> bool:
    """Wait for a running engine to save the session to another file, because this one was damaged."""
    due_s = time.monotonic() + _NEW_FILE_TIMEOUT_S
    while not (followed := tail.follow()) and time.monotonic() < due_s:
        time.sleep(_POLL_S)
    return followed


def lines(
    path: Path, engine: Engine | None, session: Session, begin_s: float, speed: float | None
) -> Iterator[str]:
    """Yield what the Monitor shows of a session, as lines with session times.

    Starts at ``begin_s``. With a speed, reproduces the recorded pauses between events at that speed.
    """
    markers, pace = Markers(), _Pace(begin_s, speed)
    for event in apply_events(path, engine, session):
        seen = len(markers.all)
        if not isinstance(event, Steps):  # they yield outliers, which aren't printed
            markers.add(event, session)
        if session.now_s < begin_s:
            continue
        pace.wait(session.now_s)
        for text in _texts(session, event, markers.all[seen:]):
            yield stamped(session, text)


def stamped(session: Session, text: str) -> str:
    """Put the session time before a line of progress."""
    return f"{session.now_s:9.1f} s  {text}"


def events(
    path: Path, engine: Engine | None, session: Session, begin_s: float, speed: float | None
) -> Iterator[Event]:
    """Yield the events of a session as recorded, except those of other versions. See ``lines``."""
    pace = _Pace(begin_s, speed)
    for event in apply_events(path, engine, session):
        if session.now_s >= begin_s and isinstance(event, Event):
            pace.wait(session.now_s)
            yield event


class _Pace:
    """Pace of a playback at a given speed; without one, there are no pauses."""

    def __init__(self, begin_s: float, speed: float | None) -> None:
        self._begin_s, self._speed, self._started_s = begin_s, speed, time.monotonic()

    def wait(self, now_s: float) -> None:
        """Wait until a session time is due."""
        if self._speed is not None:
            passed_s = time.monotonic() - self._started_s
            time.sleep(max(0.0, (now_s - self._begin_s) / self._speed - passed_s))


def session_time_of(path: Path, position: str | None) -> float:
    """Return the session time of a position given by the user. Raises BenchtuiError if it doesn't exist."""
    if position is None:
        return 0.0
    target = ReplayTarget.parse(position)
    timeline = Timeline(path)
    try:
        while not timeline.complete:
            timeline.read()
        return target.moment(timeline)
    finally:
        timeline.close()


def _texts(session: Session, event: AnyRecord, markers: Sequence[TimelineEvent]) -> Iterator[str]:
    text = progress_line(session, event)
    if text is not None:
        yield text.strip()
    else:
        yield from (marker_text(marker, session) for marker in markers)
    match event:
        case SessionStarted():
            yield _machine_text(event.host)
        case CaseFinished() if session.cases[event.case].marks:
            yield f"  marked: {', '.join(session.cases[event.case].marks)}"


def _machine_text(host: Host) -> str:
    gpus = counted(gpu.name for gpu in host.gpus) or host.absent.get("gpu", "no GPU")
    processors = count(host.cpu_count, "processor") if host.cpu_count else None
    parts = (host.hostname, host.processor, processors, gpus)
    return f"on {', '.join(part for part in parts if part)}"


def progress_line(session: Session, event: AnyRecord) -> str | None:
    """Format an event as one line of progress; None if it adds nothing."""
    match event:
        case SessionStarted():
            name = labeled(event.sweep.name, event)
            return f"session {event.id}: {name}, {count(len(event.plan), 'case')}"
        case Message():
            return f"  {event.level}: {event.text}"
        case CaseFinished():
            case = session.cases[event.case]
            if case.state == "skipped" and event.reason == OUT_OF_BUDGET:
                return None  # a message tells how many there are
            return f"[{session.done}/{len(session.cases)}] {case.name}  {outcome_text(session, case)}"
        case CaseStarted():
            return _start_text(session, event)
    return _queue_text(session, event)


def _queue_text(session: Session, event: AnyRecord) -> str | None:
    """Format an event about the queue or its nodes."""
    match event:
        case CaseAdded():
            return f"  added: {session.cases[event.case].name} ({event.why})"
        case OrderChanged() if session.start.sweep.find is None:  # a search looks for the best order itself
            return f"  new order of {len(event.cases)} pending cases"
        case RoundsPlanned():
            return _plan_text(event)
        case Paused() | Continued():
            return "  paused: no new cases will start" if isinstance(event, Paused) else "  continued"
        case NodeJoined():
            return f"  node {event.node} joined: {event.kind}, {event.host.processor or 'unknown processor'}"
        case NodeLost():
            return f"  node {event.node} lost: {event.reason}"
        case Resumed():
            remaining = f"{session.left} of {len(session.cases)} cases left"
            return f"resumed after {event.t:,.1f} s: {remaining}, {len(event.cases)} to be rerun"
    return None


def _plan_text(plan: RoundsPlanned) -> str | None:
    """Describe planned further rounds; None if there are none, which a message then explains."""
    if not plan.cases:
        return None
    spent = f"{plan.spent_s:.0f} of at most {plan.budget_s:.0f} s spent"
    questions = count(plan.open_questions, "open question")
    cases = len(plan.cases)
    rounds = f"a round of {cases} cases by turns" if plan.by_turns else count(cases, "further round")
    return f"  next: {rounds} for {questions}, {spent}"


def _start_text(session: Session, event: CaseStarted) -> str:
    case = session.cases[event.case]
    predicted = MemoryForecast(session.cases).predict(case.config)
    peak = f", predicted peak {memory(predicted.peak_mb)} {predicted.quantity}" if predicted else ""
    round_text = f", round {event.round + 1}" if event.round else ""
    node = f" on {event.node}" if event.node else ""
    return f"  starts: {case.name}{node}{round_text}{peak}"


def outcome_text(session: Session, case: CaseState) -> str:
    """Format the outcome of a case: its metrics, or its state and reason."""
    case_metrics = metrics(case) if case.state == "ok" else None
    if case_metrics is None:
        reason = case.finished.reason if case.finished else None
        return f"{case.state}: {reason}" if reason else case.state
    settled = f"  {not_measured_further(case.settled)}" if case.settled else ""
    return f"{_metrics_text(_step_text(session, case, case_metrics), case, case_metrics)}{settled}"


def _step_text(session: Session, case: CaseState, case_metrics: Metrics) -> str:
    """Format the typical step of a case, with an interval that covers other processes of the case."""
    latency, rounds = case_metrics.latency_ms, len(case.ends)
    rows = measured(session) if len(session.cases) <= MOST_WITH_INTERVALS else ()
    if result := next((row for row in rows if row.case.index == case.index), None):
        width = half_width(bounds.half_width_percent if (bounds := result.typical_bounds) else None, over=">")
        interval = f"  ±{width}%" if width else ""
        return f"typical {time_ms(result.typical_ms)} ms{interval}  {count(rounds, 'round')}"
    return f"mean {time_ms(latency.mean)} ms" if latency.median is None else f"p50 {time_ms(latency.median)} ms"


def _metrics_text(step: str, case: CaseState, case_metrics: Metrics) -> str:
    latency = case_metrics.latency_ms
    parts = [step, f"n {latency.n}"]
    if case_metrics.samples_per_s is not None:
        parts.append(f"{number(case_metrics.samples_per_s)} {case_metrics.task.unit}")
    parts += _generation_texts(case_metrics)
    if case_metrics.loss is not None:
        parts.append(f"loss {loss(case_metrics.loss)}")
    peaks = case.finished.memory if case.finished else None
    sizes = (
        (
            ("VRAM {}", peaks.peak_allocated_mb),
            ("VRAM {} reserved", peaks.peak_reserved_mb),
            ("VRAM {}", peaks.peak_device_mb),
            ("RSS {}", peaks.peak_rss_mb),
        )
        if peaks
        else ()
    )
    parts += [form.format(memory(size_mb)) for form, size_mb in sizes if size_mb is not None][:1]
    if case_metrics.mean_power_w is not None:
        parts.append(f"{number(case_metrics.mean_power_w)} W")
    return "  ".join(parts)


def _generation_texts(measured: Metrics) -> list[str]:
    """Format time to first token, time per output token and new tokens/s, for generation only."""
    latencies = (
        ("first token", measured.time_to_first_token_ms),
        ("per token", measured.time_per_output_token_ms),
        ("per request", measured.request_ms),
    )
    texts = [
        f"{name} {time_ms(latency.median)} ms"
        for name, latency in latencies
        if latency and latency.median is not None
    ]
    if measured.new_tokens_per_s is not None:
        texts.append(f"{number(measured.new_tokens_per_s)} new tokens/s")
    return texts


def measured_case(case: CaseState, session: Session) -> MeasuredCaseJson:
    """Return a finished case as a JSON record: the fields of ``CaseRow``, and its roofline limit."""
    return MeasuredCaseJson(**msgspec.structs.asdict(case_row(case)), limit=limit(case, session.peaks))


def measured_text(session: Session) -> str:
    """Say how many cases a session measured."""
    return count(sum(case.state == "ok" for case in session.cases), "measured case")


def summary_line(session: Session, path: Path, engine: Engine | None = None) -> str:
    """Summarize outcomes and name the session file. If the engine died, add its last message."""
    counts = dict[str, int](Counter(case.state for case in session.cases))
    if session.cut_off and "running" in counts:
        counts["unfinished"] = counts.pop("running")
    outcomes = ", ".join(f"{count} {state}" for state, count in counts.items())
    path = recorded_path(session, path)
    resume = f"; resume: benchtui run --resume {shell_word(str(path))}" if session.left else ""
    cases = count(len(session.cases), "case")
    return f"{cases}: {outcomes}{_cut_off_text(session, engine)}; session {path}{resume}"


def recorded_path(session: Session, path: Path) -> Path:
    """Return the file that has the whole session: a rescue file if other processes damaged the original."""
    return current_path(path, session.started.id) if session.started else path


def _cut_off_text(session: Session, engine: Engine | None) -> str:
    if session.finished:
        return ""
    reason = engine.last_words() if engine else None
    return "; the engine crashed, and the session is incomplete" + (f": {reason}" if reason else "")

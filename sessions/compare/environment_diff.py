"""Environment diff: machine, software, work and settings that differ between compared sessions."""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TypeVar

import msgspec
from msgspec import structs

from benchtui.sessions.compare.system_facts import (
    NAMED_ELSEWHERE,
    SOFTWARE,
    Fact,
    file_versions,
    models,
    system,
)
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.payloads import Host
from benchtui.sessions.state.file_names import WEIGHTS
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import task_named

LISTS = ("Other packages", "Environment variables")
"""System facts that list many values, which are compared one by one here."""
UNCOMPARED = ("Processor clock", "Processor throttling", "Instructions per cycle", "Memory traffic")
"""System facts that give the reason for a missing reading. Only newer sessions record them."""
GROUPS = ("machine", "software", "work", "settings")

MEMORY_SHARE = 0.01
"""Relative difference in memory size that is ignored: kernels reserve different amounts for themselves."""

_PLACES = ("Model", "Configuration source", "Revision")
"""Where a model's files are; no difference if they are the same files."""
LIMITS = ("container_cpus", "container_memory_mb")
"""Fields of a host that are null if there is no limit. Any other null couldn't be read."""

R = TypeVar("R", bound=msgspec.Struct)
Facts = dict[tuple[str, str], str]
"""Values by group and name."""


class Difference(msgspec.Struct, frozen=True):
    """A fact that isn't the same in all sessions."""

    group: str
    """One of ``GROUPS``."""
    what: str
    values: tuple[str | None, ...]
    """One per session, in order; None if a session doesn't record it."""


def differences(sessions: Sequence[Session]) -> tuple[Difference, ...]:
    """Return the differing facts, those about the machine first.

    Raises BenchtuiError if a session has no start event.
    """
    facts_by_session = [_facts(session) for session in sessions]
    keys = dict.fromkeys(key for facts in facts_by_session for key in facts)
    if len(set(map(_model_files, sessions))) == 1 and _model_files(sessions[0]):
        for what in _PLACES:
            keys.pop(("work", what), None)
    rows = (
        Difference(group, what, tuple(facts.get((group, what)) for facts in facts_by_session))
        for group, what in keys
    )
    differing = [row for row in (*rows, *_files(sessions)) if len(set(row.values)) > 1]
    return tuple(sorted(differing, key=lambda row: GROUPS.index(row.group)))


def _model_files(session: Session) -> tuple[tuple[str, str], ...]:
    """Return the digests of the files of a session's only model; empty for several, or without weights."""
    digests = {tuple(sorted(case.prepared.files.items())) for case in session.cases if case.prepared}
    return next((files for files in digests if WEIGHTS in dict(files)), ()) if len(digests) == 1 else ()


def _files(sessions: Sequence[Session]) -> Iterator[Difference]:
    """Yield the versions of each file that all sessions recorded. Older sessions recorded none."""
    versions_by_session = [file_versions(session) for session in sessions]
    for label in versions_by_session[0]:
        values = tuple(" or ".join(versions[label]) for versions in versions_by_session if label in versions)
        if len(values) == len(sessions):
            yield Difference("work", label, values)


def without_files(session: Session) -> bool:
    """Return whether a session measured cases here without recording digests of their files."""
    ours = not session.start.source and not session.simulated
    return ours and any(
        case.state == "ok" and case.prepared and not case.prepared.files for case in session.cases
    )


def missing_groups(session: Session) -> tuple[str, ...]:
    """Return which of machine and software a session doesn't record. Imported sessions may lack both."""
    recorded = {group for group, _ in _facts(session)}
    return tuple(group for group in ("machine", "software") if group not in recorded)


def changes(session: Session, host: Host, version: str | None) -> tuple[str, ...]:
    """Return the changes in machine and software since a session was started or last resumed.

    A value that is unreadable on one side isn't a change: the last readable value replaces it. A difference in
    memory size below ``MEMORY_SHARE`` isn't a change, either.
    """
    newest = session.resumed[-1] if session.resumed else session.start
    earlier = (*(resumption.host for resumption in reversed(session.resumed)), session.start.host)
    return _changed((reduce(_with_readable, earlier), newest.version), (host, version), session.start)


def node_changes(session: Session, name: str, host: Host) -> tuple[str, ...]:
    """Return the changes since a node last joined; empty if it never joined."""
    node = session.nodes.get(name)
    changed = _changed((node.host, None), (host, None), session.start) if node else ()
    return tuple(f"{name}: {change}" for change in changed)


def _changed(
    was: tuple[Host, str | None], now: tuple[Host, str | None], start: SessionStarted
) -> tuple[str, ...]:
    """Return the differences between two states of the same machine, including its version of benchtui."""
    (old, old_version), (new, version) = was, now
    if old.memory_mb and new.memory_mb and abs(new.memory_mb / old.memory_mb - 1) < MEMORY_SHARE:
        new = structs.replace(new, memory_mb=old.memory_mb)
    old, new = _with_readable(old, new), _with_readable(new, old)
    changed_facts = differences([_started_on(old, old_version, start), _started_on(new, version, start)])
    return tuple(
        f"{difference.what}: {difference.values[0] or 'none'} → {difference.values[1] or 'none'}"
        for difference in changed_facts
    )


def _with_readable(host: Host, other: Host) -> Host:
    """Return a host whose unreadable values are replaced by those from another state of the same machine."""
    others = {(gpu.index, gpu.name): gpu for gpu in other.gpus}
    gpus = (_filled(gpu, others.get((gpu.index, gpu.name), gpu)) for gpu in host.gpus)
    return structs.replace(_filled(host, other), gpus=tuple(gpus))


def _filled(record: R, other: R) -> R:
    """Return a record in which values that couldn't be read are replaced by those of another record."""
    values = {name: getattr(other, name) for name in record.__struct_fields__ if getattr(record, name) is None}
    return structs.replace(record, **{name: value for name, value in values.items() if name not in LIMITS})


def _started_on(host: Host, version: str | None, start: SessionStarted) -> Session:
    """Build a session on this machine with only a start event."""
    session = Session()
    session.apply(structs.replace(start, plan=(), host=structs.replace(host, absent={}), version=version))
    return session


def _facts(session: Session) -> Facts:
    pairs = (
        *(("software" if label in SOFTWARE else "machine", (label, text)) for label, text in system(session)),
        *(("machine", fact) for fact in _clocks(session)),
        *(("software", fact) for fact in _versions(session)),
        *(("work", fact) for fact in _work(session)),
        *(("settings", fact) for fact in _settings(session)),
    )
    return {(group, label): text for group, (label, text) in pairs if label not in (*LISTS, *UNCOMPARED)}


def _clocks(session: Session) -> Iterator[Fact]:
    for gpu in session.start.host.gpus:
        clocks = {"clock": gpu.graphics_clock_mhz, "memory clock": gpu.memory_clock_mhz}
        for name, mhz in clocks.items():
            if mhz is not None:
                yield f"GPU {gpu.index} {name}", f"{mhz:,.0f} MHz"


def _versions(session: Session) -> Iterator[Fact]:
    packages = session.start.host.packages.items()
    yield from ((name, version) for name, version in packages if name not in NAMED_ELSEWHERE)
    yield from ((f"env {name}", text) for name, text in (session.start.host.environment or {}).items())
    if session.start.version:
        yield "benchtui", session.start.version


def _work(session: Session) -> Iterator[Fact]:
    sweep = session.start.sweep
    yield "Model", sweep.model
    if not session.start.source:
        yield "Weights", sweep.weights
    yield "Task", sweep.task
    yield "Dataset", sweep.dataset
    yield from _model_facts(session)
    data = next((case.prepared.data for case in session.cases if case.prepared and case.prepared.data), None)
    if data:
        yield "Samples available", f"{data.samples:,}"
        yield "Tokenizer", data.tokenizer or "none"


def _model_facts(session: Session) -> Iterator[Fact]:
    """Yield the facts of the first model; each with all of its values if the model was replaced."""
    described = [dict(model) for model in models(session)]
    same = [model for model in described if model.get("Model") == described[0].get("Model")]
    for label in dict.fromkeys(label for model in same for label in model):
        if label not in ("Model", "Weights"):
            yield label, " or ".join(dict.fromkeys(model[label] for model in same if label in model))


def _settings(session: Session) -> Iterator[Fact]:
    sweep = session.start.sweep
    if session.start.source:
        return  # the settings of another tool aren't recorded
    device = next((device_name for device_name in sweep.axes.device if device_name != "cpu"), "cpu")
    yield from _options("", sweep.measure.for_device(device), excluded=("baseline", "explain"))
    yield from _options("run ", sweep.run)
    if entries := task_named(sweep.task).entries:
        yield from _options(f"{entries} ", getattr(sweep, entries))
    yield from ((f"env {name}", text) for name, text in sweep.env.items())


def _options(prefix: str, options: msgspec.Struct, excluded: Sequence[str] = ()) -> Iterator[Fact]:
    for field in options.__struct_fields__:
        if field not in excluded:
            yield f"{prefix}{field.replace('_', ' ')}", _text(getattr(options, field))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)

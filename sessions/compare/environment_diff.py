"""What differs between the machines, the software, the work and the settings of sessions that are compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import structs

from benchtui.sessions.compare.system_facts import NAMED_ELSEWHERE, Fact, models, system
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.payloads import Host
from benchtui.sessions.state.session import Session

SOFTWARE = ("GPU driver", "CUDA", "cuDNN", "Python", "PyTorch", "Transformers", "Threads of torch")
"""Facts of a system that are of its software; the others are of the machine."""
APART = "Other packages"
"""A fact of a system that lists many; here each is held against its own."""
GROUPS = ("machine", "software", "work", "settings")

MEMORY_SHARE = 0.01
"""What a kernel keeps for itself differs from one to the next."""

Facts = dict[tuple[str, str], str]
"""Values by group and name."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that isn't the same in all sessions."""

    group: str
    """One of ``GROUPS``."""
    what: str
    values: tuple[str | None, ...]
    """One for each session, in their order; None where a session says nothing of it."""


def differences(sessions: Sequence[Session]) -> tuple[Difference, ...]:
    """Everything that differs, the machine first; raises BenchtuiError for a session without a beginning."""
    known = [_facts(session) for session in sessions]
    keys = dict.fromkeys(key for facts in known for key in facts)
    rows = (Difference(group, what, tuple(facts.get((group, what)) for facts in known)) for group, what in keys)
    differing = [row for row in rows if len(set(row.values)) > 1]
    return tuple(sorted(differing, key=lambda row: GROUPS.index(row.group)))


def unsaid(session: Session) -> tuple[str, ...]:
    """Of machine and software, what a session says nothing of, as an imported one may."""
    said = {group for group, _ in _facts(session)}
    return tuple(group for group in ("machine", "software") if group not in said)


def changes(session: Session, host: Host, version: str | None) -> tuple[str, ...]:
    """What of machine and software isn't as it was when a session was begun, or was last resumed.

    What can't be read any more is no change, nor is a memory that differs by less than ``MEMORY_SHARE``.
    """
    was = session.resumed[-1] if session.resumed else session.start
    return _changed((was.host, was.version), (host, version), session.start)


def node_changes(session: Session, name: str, host: Host) -> tuple[str, ...]:
    """What isn't as it was when a node last joined; nothing for one that never did."""
    node = session.nodes.get(name)
    changed = _changed((node.host, None), (host, None), session.start) if node else ()
    return tuple(f"{name}: {each}" for each in changed)


def _changed(
    was: tuple[Host, str | None], now: tuple[Host, str | None], start: SessionStarted
) -> tuple[str, ...]:
    """What differs between the same machine and its benchtui, before and now."""
    (old, _), (host, version) = was, now
    if old.memory_mb and host.memory_mb and abs(host.memory_mb / old.memory_mb - 1) < MEMORY_SHARE:
        host = structs.replace(host, memory_mb=old.memory_mb)
    found = differences([_begun_at(host, version, start) for host, version in (was, (host, version))])
    return tuple(f"{each.what}: {each.values[0] or 'none'} → {each.values[1] or 'none'}" for each in found)


def _begun_at(host: Host, version: str | None, start: SessionStarted) -> Session:
    """A session of which nothing is known but that it began on this machine."""
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
    return {(group, label): text for group, (label, text) in pairs if label != APART}


def _clocks(session: Session) -> Iterator[Fact]:
    for gpu in session.start.host.gpus:
        if gpu.sm_clock_mhz is not None:
            yield f"GPU {gpu.index} clock", f"{gpu.sm_clock_mhz:,.0f} MHz"


def _versions(session: Session) -> Iterator[Fact]:
    packages = session.start.host.packages.items()
    yield from ((name, version) for name, version in packages if name not in NAMED_ELSEWHERE)
    if session.start.version:
        yield "benchtui", session.start.version


def _work(session: Session) -> Iterator[Fact]:
    sweep = session.start.sweep
    yield from (
        ("Model", sweep.model),
        ("Weights", sweep.weights),
        ("Task", sweep.task),
        ("Dataset", sweep.dataset),
    )
    for model in models(session)[:1]:
        yield from ((label, text) for label, text in model if label not in ("Model", "Weights"))
    data = next((case.prepared.data for case in session.cases if case.prepared and case.prepared.data), None)
    if data:
        yield "Samples available", f"{data.samples:,}"
        yield "Tokenizer", data.tokenizer or "none"


def _settings(session: Session) -> Iterator[Fact]:
    sweep = session.start.sweep
    yield from _options("", sweep.measure, leaving="baseline")
    yield from _options("run ", sweep.run)
    if sweep.task == "lm-train":
        yield from _options("train ", sweep.train)
    if sweep.task == "generate":
        yield from _options("generate ", sweep.generate)
    yield from ((f"env {name}", text) for name, text in sweep.env.items())


def _options(lead: str, options: msgspec.Struct, leaving: str = "") -> Iterator[Fact]:
    for field in options.__struct_fields__:
        if field != leaving:
            yield f"{lead}{field.replace('_', ' ')}", _told(getattr(options, field))


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)

"""Joined sessions: several measurements of the same work as one record, with all rounds of each case."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from benchtui.sessions.advice.deciding_sweep import spanning
from benchtui.sessions.compare.environment_diff import changes
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    Answered,
    CaseAdded,
    CaseFinished,
    CaseStarted,
    OrderChanged,
    Resumed,
    RoundFinished,
    RoundsPlanned,
    SessionFinished,
    SessionStarted,
    Telemetry,
)
from benchtui.sessions.journal import reader
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library.paths import require_changeable
from benchtui.sessions.payloads import AnswerComparison, CaseRound, Turns
from benchtui.sessions.state.case import CaseState, rounds_energy_j
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import answer_baseline
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.disturbance import merge_round_marks
from benchtui.sessions.stats.ended_rounds import as_round, end_of_case
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.sweep.options import AXES
from benchtui.sessions.sweep.plan import included_configs

_SAME = ("weights", "task", "dataset", "train", "generate", "env")
"""Entries of the sweep that joined sessions share, besides ``measure.mode`` and a model."""


def load_joined(paths: Sequence[Path]) -> Session:
    """Load sessions of the same work as one. Raises BenchtuiError that says why some can't be joined."""
    if len(paths) == 1:
        return Session.load(paths[0])
    session = Session(metrics)
    session.apply_all(joined_events(paths))
    return session


def join_into(path: Path, other: Path) -> None:
    """Append the rounds and cases of another session to a session file.

    The file is replaced as a whole, so that it is never incomplete. Raises BenchtuiError if they can't be
    joined. Both files are left unchanged then.
    """
    events = joined_events([path, other])
    whole = path.with_name(f".{path.name}.joined")
    whole.unlink(missing_ok=True)
    _write(events, whole)
    whole.replace(path)


def join_follow_up(path: Path, other: Path, measured: Session) -> bool:
    """Append a follow-up to the session that it was for, and remove its own file.

    Return False if none of its cases was measured to its end, so that nothing was joined. Raises BenchtuiError
    if they can't be joined.
    """
    if not any(case.state == "ok" for case in measured.cases):
        return False
    join_into(path, other)
    other.unlink()
    return True


@contextmanager
def joined_copy(paths: Sequence[Path]) -> Iterator[Path]:
    """Provide sessions of the same work as one file until the end.

    Raises BenchtuiError if they can't be joined.
    """
    events = joined_events(paths)
    with TemporaryDirectory(prefix="benchtui-") as folder:
        copy = Path(folder) / paths[0].name
        _write(events, copy)
        yield copy


def _write(events: Iterable[AnyRecord], path: Path) -> None:
    journal = Journal(path, sync_cases=False)
    try:
        for event in events:
            journal.append(event)  # type: ignore[arg-type]  # an event of a newer version is written as it is
    finally:
        journal.close()


def joined_events(paths: Sequence[Path]) -> list[AnyRecord]:
    """Return the events of sessions of the same work as those of one session that was resumed.

    Raises BenchtuiError if one can't be read, or they can't be joined.
    """
    first, *others = paths
    events = _events(first)
    for path in others:
        base, added = _session(events), _events(path)
        join = _Join(base, _session(added))
        if reason := join.obstacle():
            raise BenchtuiError(f"{first} and {path} can't be joined: {reason}")
        events = [*join.before(events), *join.after(added)]
    return events


def require_joinable(path: Path, session: Session, sweep: Sweep) -> None:
    """Check that the cases of a sweep can join a session. Raises BenchtuiError if they can't."""
    require_changeable(path, "append to")
    if reason := unlike(session, sweep):
        raise BenchtuiError(f"{path}: the sweep can't join this session: {reason}")


def with_baselines(session: Session, sweep: Sweep) -> Sweep:
    """Return a sweep that also runs the baselines of cases that are new to a session.

    Answers are compared only if both are computed in the same session.
    """
    planned = list(included_configs(sweep))
    measured = [case for case in session.cases if case.state == "ok" and not case.config.repeat]
    new = {*planned}.difference(case.config for case in measured)
    bases_of_new = (answer_baseline(config, measured, sweep.measure.baseline, sweep.task) for config in new)
    bases = {base.config for base in bases_of_new if base}
    if bases.issubset(planned) or not sweep.measure.answers:
        return sweep
    first = {  # a baseline is the first case that matches
        axis: tuple(dict.fromkeys([*(getattr(base, axis) for base in bases), *getattr(sweep.axes, axis)]))
        for axis in AXES
    }
    return spanning(replace(sweep, axes=replace(sweep.axes, **first)), {*planned, *bases})


def unlike(session: Session, sweep: Sweep) -> str | None:
    """Return why the cases of a sweep can't join a session's; None if they do the same work."""
    own = session.start.sweep
    if session.start.source or session.simulated:
        return f"session {session.start.id} is imported or simulated"
    differing = [] if set(_models(own)) & set(_models(sweep)) else ["model"]
    differing += [name for name in _SAME if getattr(own, name) != getattr(sweep, name)]
    differing += ["measure.mode"] if own.measure.mode != sweep.measure.mode else []
    return f"they differ in {', '.join(differing)}" if differing else None


def _events(path: Path) -> list[AnyRecord]:
    return [event for events, _ in reader.slices(path) for event in events]


def _session(events: Sequence[AnyRecord]) -> Session:
    session = Session()
    session.apply_all(events)
    return session


class _Join:
    """One session appended to another."""

    def __init__(self, base: Session, added: Session) -> None:
        self._base = base
        self._added = added
        numbers = {_key(base, case.config): case.index for case in base.cases}
        self._numbers: dict[int, int] = {}
        """Numbers of appended cases in the joined session. A case measured before must have ended well."""
        new = len(base.cases)
        for case in added.cases:
            number = numbers.get(_key(added, case.config))
            if number is None:
                self._numbers[case.index], new = new, new + 1
            elif case.state == "ok":
                self._numbers[case.index] = number
        self._again = set(self._numbers.values())

    def obstacle(self) -> str | None:
        """Return why the sessions can't be joined; None if they can."""
        base, added = self._base, self._added
        if reason := unlike(base, added.start.sweep) or unlike(added, base.start.sweep):
            return reason
        if changed := changes(base, added.start.host, added.start.version):
            return f"the machine or its software has changed: {'; '.join(changed)}"
        again = [case for case in added.cases if self._measured_before(case)]
        pairs = [(case.prepared, base.cases[self._numbers[case.index]].prepared) for case in again]
        if any(new and old and new.files != old.files for new, old in pairs):
            return "files of the step, the model or the dataset have changed"
        return None

    def before(self, events: Sequence[AnyRecord]) -> Iterator[AnyRecord]:
        """Yield the events of the first session: cases that get further rounds don't end there."""
        for event in events:
            match event:
                case SessionStarted():
                    rules = replace(event.sweep.measure, rounds_auto=True)
                    yield replace(event, sweep=replace(self._sweep(event.sweep), measure=rules))
                case SessionFinished():
                    pass
                case CaseFinished(outcome="ok") if event.case in self._again:
                    if event.not_measured_further is None:
                        yield _last_round(event, self._base.cases[event.case].rounds)
                case _:
                    yield event

    def after(self, events: Sequence[AnyRecord]) -> Iterator[AnyRecord]:
        """Yield the events of the other session with the numbers, rounds and times of the joined one."""
        for event in events:
            if isinstance(event, SessionStarted):
                yield self._resumed(event)
                yield from self._new_cases(event)
            elif not isinstance(event, CaseAdded | OrderChanged | RoundsPlanned):
                moved = self._renumbered(event)
                if moved is not None:
                    yield self._later(moved)

    def _measured_before(self, case: CaseState) -> bool:
        return self._numbers.get(case.index, len(self._base.cases)) < len(self._base.cases)

    def _resumed(self, event: SessionStarted) -> Resumed:
        again = (case.index for case in self._base.cases if case.index in self._again)
        return Resumed(
            t=self._base.now_s,
            created=event.created,
            version=event.version,
            host=event.host,
            cases=tuple(again),
        )

    def _new_cases(self, event: SessionStarted) -> Iterator[CaseAdded]:
        for case in self._added.cases:
            number = self._numbers.get(case.index)
            if number is not None and not self._measured_before(case):
                why = f"joined from session {event.id}"
                yield CaseAdded(t=self._base.now_s, case=number, config=self._config(case.config), why=why)

    def _sweep(self, sweep: Sweep) -> Sweep:
        """Return the sweep of the first session with the new cases, so that it plans all of the record."""
        new = (case for case in self._added.cases if self._numbers.get(case.index, -1) >= len(self._base.cases))
        configs = {replace(self._config(case.config), repeat=0) for case in new}
        return spanning(sweep, {*included_configs(sweep), *configs}) if configs else sweep

    def _config(self, config: Config) -> Config:
        """Return a configuration of the other session in the form of the first: with its model if several."""
        several = len(self._base.start.sweep.axes.model) > 1
        model = config.model or self._added.start.sweep.model
        return replace(config, model=model if several else "", unset=self._base.start.sweep.axes.unset)

    def _renumbered(self, event: AnyRecord) -> AnyRecord | None:
        """Return an event with the numbers of the joined session; None if its case isn't part of that."""
        index = getattr(event, "case", None)
        if index is None:
            return event
        number = self._numbers.get(index)
        if number is None:
            return None
        changed = {"case": number}
        if hasattr(event, "round"):
            changed["round"] = event.round + self._rounds(number)
        event = replace(event, **changed)
        if isinstance(event, RoundFinished | CaseFinished) and event.turns:
            event = replace(event, turns=self._turns(event.turns))
        if isinstance(event, CaseStarted):
            return replace(event, config=self._config(event.config))
        if isinstance(event, Answered):
            return replace(event, comparisons=tuple(self._comparisons(event)))
        if isinstance(event, CaseFinished) and number < len(self._base.cases):
            return self._end(event, self._rounds(number) + len(self._added.cases[index].ends))
        return event

    def _end(self, end: CaseFinished, rounds: int) -> CaseFinished:
        """Return the end of a case with the peaks, the energy and the marks of both sessions."""
        before = self._base.cases[end.case].finished
        if before is None or before.outcome != "ok":
            return end
        marks = merge_round_marks((before.marks, end.marks), rounds)
        alone = [replace(ended, turns=None) for ended in (before, end)]  # energies are without rounds by turns
        return replace(end_of_case(alone), marks=marks, turns=end.turns)

    def _turns(self, turns: Turns) -> Turns | None:
        """Return turns with the numbers of the joined session; None if the other cases aren't part of that."""
        rounds = [
            CaseRound(case=joined, round=number + self._rounds(joined))
            for case, number in turns.partners.items()
            if (joined := self._numbers.get(case)) is not None
        ]
        if not rounds:
            return None
        first, *others = rounds
        return replace(turns, case=first.case, round=first.round, others=tuple(others))

    def _comparisons(self, event: Answered) -> Iterator[AnswerComparison]:
        for comparison in event.comparisons:
            case, baseline = (self._numbers.get(index) for index in (comparison.case, comparison.baseline))
            if case is not None and baseline is not None:
                yield replace(comparison, case=case, baseline=baseline)

    def _rounds(self, number: int) -> int:
        """Return the rounds of a case in the first session; 0 for a case that is new to it."""
        if number >= len(self._base.cases):
            return 0
        case = self._base.cases[number]
        if case.finished and case.finished.not_measured_further is not None:
            return len(case.rounds) + 1  # its end repeats that of its last round
        return len(case.ends) if case.state == "ok" else len(case.rounds)

    def _later(self, event: AnyRecord) -> AnyRecord:
        """Return an event with the times of the joined session."""
        at_s = self._base.now_s
        changed: dict[str, object] = {"t": event.t + at_s}
        if isinstance(event, RoundFinished | CaseFinished) and event.measured_s:
            begin_s, end_s = event.measured_s
            changed["measured_s"] = (begin_s + at_s, end_s + at_s)
        if isinstance(event, Telemetry):
            changed["at_s"] = [sample_s + at_s for sample_s in event.at_s]
        return replace(event, **changed)


def _models(sweep: Sweep) -> tuple[str, ...]:
    return tuple(model or sweep.model for model in sweep.axes.model)


def _key(session: Session, config: Config) -> Config:
    """Return a configuration in a form that is equal in both sessions, whatever each sweep lists."""
    return replace(session.start.sweep.resolve(config), unset=())


def _last_round(end: CaseFinished, rounds: Sequence[RoundFinished]) -> RoundFinished:
    """Return the end of a case as that of its last round, with only the energy of that round."""
    last = as_round(end, len(rounds))
    known_j = [joules for joules in rounds_energy_j(rounds) if joules is not None]
    if last.energy is None or last.energy.energy_j is None or len(known_j) < len(rounds):
        return last
    return replace(last, energy=replace(last.energy, energy_j=max(last.energy.energy_j - sum(known_j), 0.0)))

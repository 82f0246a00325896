"""The rounds of a sweep: what each case has come to so far, and whether a disturbed one is measured again."""

from collections import defaultdict
from dataclasses import dataclass

import msgspec

from benchtui.engine.node import energy
from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.payloads import Memory
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.disturbance import contention_marks, over_rounds, throttling
from benchtui.sessions.sweep import Measure

THROTTLED_RETRIES = 2
"""How often a throttled case is measured again where the sweep doesn't say."""
PAUSE_S = 5.0
"""The first pause before measuring again; each further one is twice as long."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Why a case is measured again, and how long the machine is given to come to rest."""

    reason: str
    pause_s: float


class Rounds:
    """Keeps the ends of all rounds, and makes the end of a case out of them."""

    def __init__(self, rules: Measure) -> None:
        self._rules = rules
        self._ends: dict[int, list[CaseFinished]] = defaultdict(list)
        self._processes = 0

    def take_up(self, session: Session) -> None:
        """Know the rounds that have ended in a recorded session."""
        for case in session.cases:
            self._ends[case.index] = [as_end(each) for each in case.rounds]

    def scratch(self, case: int) -> str:
        """Name of the folder for a new process's compiler caches: empty, unless the sweep shares one."""
        if self._rules.caches == "shared":
            return "shared"
        self._processes += 1
        return f"case-{case}-{self._processes}"

    def again(self, ended: CaseFinished, attempt: int) -> Retry | None:
        """Whether to measure once more after so many repetitions; never for ever."""
        if ended.outcome != "ok" or ended.environment is None or ended.measured_s is None:
            return None
        throttled = throttling(ended.environment)
        shared = contention_marks(ended.environment, ended.measured_s[1] - ended.measured_s[0])
        default = THROTTLED_RETRIES if throttled else 0
        retries = default if self._rules.retries is None else self._rules.retries
        if attempt >= retries or not (throttled or shared):
            return None
        return Retry(", ".join((*throttled, *shared)), PAUSE_S * 2**attempt)

    def ended(self, end: CaseFinished, turn: int) -> RoundFinished | CaseFinished:
        """What to record of a round: its end, or that of the case where it is the last or went wrong."""
        ends = self._ends[end.case]
        ends.append(end)
        if end.outcome != "ok":
            return end
        if turn < self._rules.rounds - 1:
            return _round(end, turn)
        return end if len(ends) == 1 else _case(ends)


def as_end(record: RoundFinished) -> CaseFinished:
    """The end of a round as the worker told it, as far as its record says."""
    told = {name: getattr(record, name) for name in record.__struct_fields__ if name != "round"}
    return CaseFinished(**told, outcome="ok")


def _round(end: CaseFinished, turn: int) -> RoundFinished:
    return RoundFinished(
        t=end.t,
        case=end.case,
        round=turn,
        measured_s=end.measured_s,
        stop=end.stop,
        warmup_stop=end.warmup_stop,
        memory=end.memory,
        energy=end.energy,
        environment=end.environment,
        compiling=end.compiling,
        marks=end.marks,
    )


def _case(ends: list[CaseFinished]) -> CaseFinished:
    """The last round's end with the highest peaks, the energy and the marks of all rounds."""
    energies = [end.energy for end in ends if end.energy]
    return msgspec.structs.replace(
        ends[-1],
        memory=_peaks([end.memory for end in ends if end.memory]),
        energy=energy.total(energies) if energies else None,
        marks=over_rounds([end.marks for end in ends]),
    )


def _peaks(memories: list[Memory]) -> Memory | None:
    if not memories:
        return None
    peaks = {}
    for field in Memory.__struct_fields__:
        known = [value for memory in memories if (value := getattr(memory, field)) is not None]
        peaks[field] = max(known, default=None)
    return Memory(**peaks)

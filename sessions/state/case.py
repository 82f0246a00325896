"""Case state: options, events, steps and metrics of one case."""

from __future__ import annotations  # a method returns its own class

import re
from collections.abc import Collection, Iterable
from copy import copy
from typing import Protocol

import msgspec
from msgspec import structs

from benchtui.sessions.events import (
    Answered,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Explained,
    Phase,
    RoundFinished,
)
from benchtui.sessions.payloads import AnswerComparison, Effective, Energy, Environment, Memory, Reported
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.state.file_names import change_marks
from benchtui.sessions.state.simulation import SIMULATED
from benchtui.sessions.sweep import UNKNOWN, Config, Task, task_named

RESTARTING_STATES = ("running", "interrupted")
"""States of cases that restart when a session is resumed."""
UNFINISHED_STATES = ("queued", *RESTARTING_STATES)
"""States of cases that a resume has left to run."""
OUT_OF_BUDGET = "the budget is spent"
"""Why measuring ends, or a case isn't measured."""

STATE_WORDS = {"oom": "out of memory", "running": "unfinished", "queued": "not started"}
"""States whose wording differs from their name."""


class Summary(Protocol):
    """Summary that replaces the steps of a case."""

    @property
    def steps(self) -> int:
        """Number of measured steps."""

    @property
    def parts_ms(self) -> Iterable[str]:
        """Parts of a measured step, in recorded order."""


class CaseState(msgspec.Struct):
    """State of one case, accumulated from events."""

    index: int
    config: Config
    simulated: bool = False
    """Whether its session is simulated."""
    added: CaseAdded | None = None
    """Origin of the case, if it wasn't in the original plan."""
    started: CaseStarted | None = None
    """Newest start, if there are several rounds."""
    prepared: CasePrepared | None = None
    finished: CaseFinished | None = None
    rounds: tuple[RoundFinished, ...] = ()
    """Finished rounds before the last one."""
    repeated: tuple[CaseRepeated, ...] = ()
    """Disturbed attempts, which don't count."""
    answered: Answered | None = None
    """Newest answer to the probe."""
    comparison: AnswerComparison | None = None
    """Newest comparison of its answer with a baseline's."""
    explained: Explained | None = None
    """Newest profile of its step, or why there is none."""
    between_rounds: bool = False
    """Whether the case is waiting for its next round."""
    cut_off_state: str | None = None
    """State of the case if this is a copy with only its ended rounds; None for the case itself."""
    round_planned: bool = False
    """Whether a further round is planned, with ``rounds = "auto"``."""
    settled: str | None = None
    """Why it gets no further round for now, with ``rounds = "auto"``."""
    lost: bool = False
    """Whether its node was lost during a round; the steps stay until the round restarts."""
    metrics: Summary | None = None
    """Metrics of the steps, once ``sessions.stats`` has computed them; the steps may be evicted then."""
    _columns: dict[Phase, Columns] = msgspec.field(default_factory=dict)

    @property
    def newest_round_s(self) -> float:
        """Time of the newest ended round with its process, in seconds; 0 before the first one ends."""
        ends = self.rounds if self.state == "interrupted" else self.ends
        if not ends or self.started is None:
            return 0.0
        end = ends[-1]
        end_s = end.measured_s[1] if end.measured_s else end.t
        return max(end_s - self.started.t, 0.0)

    @property
    def ends(self) -> tuple[RoundFinished | CaseFinished, ...]:
        """End of each round; the end of the last round is that of the case."""
        return (*self.rounds, self.finished) if self.finished else self.rounds

    @property
    def others_cpu_percent(self) -> float | None:
        """CPU use of other processes in the worst round; 100 is one processor."""
        around = (end.environment for end in self.ends if end.environment)
        readings = (environment.others_cpu_percent for environment in around)
        return max((used for used in readings if used is not None), default=None)

    @property
    def environment(self) -> Environment:
        """Conditions while it was measured; empty if none are known."""
        return (self.finished and self.finished.environment) or Environment()

    @property
    def reported(self) -> Reported | None:
        """Figures of a source that kept no steps."""
        return self.finished.reported if self.finished else None

    @property
    def warmup(self) -> Columns:
        """Warm-up steps, which don't count."""
        return self.columns("warmup")

    @property
    def measured(self) -> Columns:
        """Measured steps, which count."""
        return self.columns("measure")

    def columns(self, phase: Phase) -> Columns:
        """Return the steps of a phase."""
        if phase not in self._columns:
            self._columns[phase] = Columns()
        return self._columns[phase]

    def snapshot(self) -> CaseState:
        """Return a copy that stays as it is when steps are added or dropped."""
        copied = copy(self)
        copied._columns = {phase: columns.copy() for phase, columns in self._columns.items()}
        return copied

    def reset_for_resume(self) -> CaseState:
        """Return the case reset for a resume: finished rounds are kept, everything after them is dropped."""
        round_index = len(self.rounds)
        case = self.snapshot()
        case.finished, case.metrics, case.between_rounds, case.lost = None, None, round_index > 0, False
        if not round_index:
            case.started = case.prepared = case.answered = case.comparison = case.explained = None
        case.drop_from_round(round_index)
        return case

    def drop_from_round(self, round_index: int) -> None:
        """Drop the steps of a round and of later rounds."""
        for columns in self._columns.values():
            columns.drop_from_round(round_index)

    def end_with_finished_rounds(self) -> float:
        """Drop an unfinished round, and return the time of the last finished one's end.

        The event that ends the case is written once no case needs further rounds, and repeats that end.
        """
        self.drop_from_round(len(self.rounds))
        ended_s = self.rounds[-1].t
        self.rounds = self.rounds[:-1]
        return ended_s

    def without_rounds(self, rounds: Collection[int]) -> CaseState:
        """Return a copy without some of its rounds, counted from 0, of which the case's end is the last."""
        copied = copy(self)
        copied._columns = {phase: columns.without_rounds(rounds) for phase, columns in self._columns.items()}
        kept = [round_ for place, round_ in enumerate(self.rounds) if place not in rounds]
        if self.finished:
            finished = structs.replace(self.finished, energy=self._energy_without(rounds))
            if len(self.rounds) in rounds:  # the last of the others takes its place
                last = kept.pop()
                finished = structs.replace(
                    finished, environment=last.environment, measured_s=last.measured_s, turns=last.turns
                )
            copied.finished = finished
        copied.rounds = tuple(kept)
        return copied

    def _energy_without(self, rounds: Collection[int]) -> Energy | None:
        """Return the energy of the other rounds, with the mean power of all; unchanged if one is unknown."""
        whole = self.finished.energy if self.finished else None
        parts_j = rounds_energy_j(self.rounds)
        known_j = [joules for joules in parts_j if joules is not None]
        if whole is None or whole.energy_j is None or len(known_j) < len(parts_j):
            return whole
        joules = [*known_j, whole.energy_j - sum(known_j)]
        return structs.replace(
            whole, energy_j=sum(of_round for place, of_round in enumerate(joules) if place not in rounds)
        )

    def drop_steps(self) -> None:
        """Drop all steps, which are no longer needed."""
        self._columns = {}

    @property
    def steps_measured(self) -> int:
        """Number of measured steps."""
        return self.metrics.steps if self.metrics else len(self.measured)

    @property
    def steps_in_memory(self) -> bool:
        """Whether the steps are in memory, if the case has any."""
        return self.metrics is None or len(self._columns.get("measure", ())) > 0

    @property
    def parts(self) -> Iterable[str]:
        """Parts of a measured step, in recorded order."""
        return (self.metrics or self.measured).parts_ms

    @property
    def name(self) -> str:
        """Readable name of the case's options; a rerun also names the number of the original case, from 1."""
        return self.config.name + self.rerun_note

    @property
    def rerun_note(self) -> str:
        """Suffix of its name if it reruns another case; empty otherwise."""
        of = self.added.of if self.added else None
        return "" if of is None else f" (rerun of case {of + 1})"

    @property
    def state(self) -> str:
        """``queued``, ``running``, or the outcome; between two rounds a case is queued again."""
        if self.cut_off_state:
            return self.cut_off_state
        if self.finished:
            return self.finished.outcome
        return "running" if self.started and not self.between_rounds else "queued"

    @property
    def late(self) -> bool:
        """Whether no time was left for it."""
        return self.finished is not None and self.finished.reason == OUT_OF_BUDGET

    @property
    def measured_in_part(self) -> bool:
        """Whether some of its rounds have ended, and the others were cut off or are still to come."""
        return self.cut_off_state is not None or (bool(self.rounds) and self.state in UNFINISHED_STATES)

    @property
    def has_result(self) -> bool:
        """Whether it ended well, or at least some of its rounds have."""
        return self.state == "ok" or self.measured_in_part

    @property
    def node(self) -> str | None:
        """Cluster node that runs the case, or ran it last."""
        return self.started.node if self.started else None

    @property
    def cut_short(self) -> bool:
        """Whether the case was running when its session or its node was lost, so that it restarts."""
        return self.state in RESTARTING_STATES or (self.lost and self.finished is None)

    @property
    def samples_per_step(self) -> int:
        """Samples per step: the batch size, unless the task reports another number."""
        reported = self.prepared.samples_per_step if self.prepared else None
        return self.config.batch_size if reported is None else reported

    @property
    def task(self) -> Task:
        """Task, which names the samples; one with unnamed samples before the case is prepared."""
        return task_named((self.prepared and self.prepared.task) or "")

    @property
    def effective(self) -> Effective | None:
        """Applied options, as last read back."""
        read_back = (end.effective for end in reversed(self.ends) if end.effective)
        return next(read_back, self.prepared.effective if self.prepared else None)

    @property
    def answer_absent(self) -> str | None:
        """Recorded reason why the case has no answer, or why the answer wasn't compared."""
        reason = self.comparison.absent if self.comparison else None
        return reason or (self.answered.absent if self.answered else None)

    @property
    def has_other_answer(self) -> bool:
        """Whether its answer was compared and isn't its baseline's."""
        return self.comparison is not None and self.comparison.verdict in ("different", "broken")

    @property
    def changes_answer(self) -> bool:
        """Whether it has trained weights and another answer. Of random weights, that proves little."""
        trained = self.prepared is not None and self.prepared.model.weights != "random"
        return trained and self.has_other_answer

    @property
    def peak_memory_mb(self) -> float | None:
        """Highest peak that was read: memory of the device, or of the worker for a case on the CPU."""
        return peak_mb(self.config.device, self.finished.memory if self.finished else None)

    @property
    def device_memory_mb(self) -> float | None:
        """Peak memory of a GPU case; None on the CPU, which has no separate memory."""
        return device_peak_mb(self.config.device, self.finished.memory if self.finished else None)

    @property
    def marks(self) -> tuple[str, ...]:
        """Caveats that a reader must know before trusting the row."""
        prepared = self.prepared.marks if self.prepared else ()
        finished = self.finished.marks if self.finished else ()
        simulated = (SIMULATED,) if self.simulated else ()
        return tuple(dict.fromkeys((*simulated, *prepared, *finished, *self._wait_marks)))

    @property
    def file_changes(self) -> tuple[str, ...]:
        """Marks about changed files. A case is compared only with cases that used the same versions."""
        ends = (self.finished,) if self.finished else self.rounds  # the last one has the marks of all rounds
        return change_marks(dict.fromkeys(mark for end in ends for mark in end.marks))

    @property
    def _wait_marks(self) -> tuple[str, ...]:
        """Mark of a case in throughput mode whose host waits for the GPU, so that its steps don't overlap."""
        waits = self.finished.work.waits if self.finished and self.finished.work else None
        return (f"waits for the GPU {waits} time{'s' if waits > 1 else ''} per step",) if waits else ()


def peak_mb(device: str, memory: Memory | None) -> float | None:
    """Return the highest peak that was read: of the device, or of the worker for a case on the CPU.

    An import whose device is unknown may have either.
    """
    if memory is None:
        return None
    on_device = device_peak_mb(device, memory)
    return memory.peak_rss_mb if on_device is None and device in ("cpu", UNKNOWN) else on_device


def device_peak_mb(device: str, memory: Memory | None) -> float | None:
    """Return the highest peak of the device that was read; None on the CPU, which has no separate memory."""
    if memory is None or device == "cpu":
        return None
    peaks = (memory.peak_device_mb, memory.peak_reserved_mb, memory.peak_allocated_mb)
    return max((peak for peak in peaks if peak is not None), default=None)


def outcome(case: CaseState) -> str:
    """Return how a case ended, in words."""
    if case.state == "queued" and case.rounds:
        return STATE_WORDS["running"]
    return STATE_WORDS.get(case.state, case.state)


def rounds_energy_j(rounds: Iterable[RoundFinished]) -> list[float | None]:
    """Return the energy that each round adds to its case's: None if unknown, 0 if it was measured by turns."""
    return [0.0 if round_.turns else round_.energy.energy_j if round_.energy else None for round_ in rounds]


_MARK = re.compile(r"[\d,]+ of [\d,]+ (?:runs|requests|rounds) failed")
"""Mark of older sessions, which recorded nothing else."""


def failures(case: CaseState) -> str | None:
    """Return the mark that says how much of a case failed; None if nothing did.

    Such a case is never recommended: it may be fast because it did less.
    """
    if case.finished and case.finished.failures:
        return case.finished.failures.mark
    return next((mark for mark in case.marks if _MARK.fullmatch(mark)), None)

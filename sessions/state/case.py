"""What is known of one case."""

from __future__ import annotations  # for figures, whose module reads this one's class

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchtui.sessions.events import (
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseRepeated,
    CaseStarted,
    Phase,
    RoundFinished,
)
from benchtui.sessions.payloads import Effective, Memory
from benchtui.sessions.state.columns import Columns, Sizes
from benchtui.sessions.sweep import Config

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics


CUT_SHORT = ("running", "interrupted")
"""States of cases that begin again when a session is resumed."""
LEFT = ("queued", *CUT_SHORT)
"""States of cases that are left to be run then."""


@dataclass(slots=True)
class CaseState:
    """What is known of one case."""

    index: int
    config: Config
    added: CaseAdded | None = None
    """How the case came in, where it wasn't planned from the start."""
    started: CaseStarted | None = None
    """The newest, where there are several rounds."""
    prepared: CasePrepared | None = None
    finished: CaseFinished | None = None
    rounds: tuple[RoundFinished, ...] = ()
    """The rounds that ended before the last one."""
    repeated: tuple[CaseRepeated, ...] = ()
    """The attempts that were disturbed and don't count."""
    resting: bool = False
    """Whether the case waits for its next round."""
    lost: bool = False
    """Whether its node was lost in the midst of a round; the steps stay until the round begins anew."""
    figures: Metrics | None = None
    """What the steps amounted to, once they have been summed up; they may have been let go of then."""
    _columns: dict[Phase, Columns] | None = None
    """Made when they are asked for: of a large plan most cases have none for long."""

    @property
    def ends(self) -> tuple[RoundFinished | CaseFinished, ...]:
        """What is known of the end of each round; the last one's is that of the case."""
        return (*self.rounds, self.finished) if self.finished else self.rounds

    @property
    def warmup(self) -> Columns:
        """Steps before those that count."""
        return self.columns("warmup")

    @property
    def measured(self) -> Columns:
        """Steps that count."""
        return self.columns("measure")

    def columns(self, phase: Phase) -> Columns:
        """The steps of a phase."""
        if self._columns is None:
            self._columns = {}
        if phase not in self._columns:
            self._columns[phase] = Columns()
        return self._columns[phase]

    def sizes(self) -> dict[Phase, Sizes]:
        """How many steps of each phase there are by now."""
        return {phase: columns.sizes() for phase, columns in (self._columns or {}).items()}

    def first(self, sizes: dict[Phase, Sizes]) -> CaseState:
        """A copy with no more steps than there were when its columns had these sizes."""
        copied = copy(self)
        copied._columns = {phase: self.columns(phase).first(sizes[phase]) for phase in sizes} or None
        return copied

    def begun_again(self) -> CaseState:
        """The case as it waits to be resumed: the rounds that ended stay, and nothing of what came after."""
        turn = len(self.rounds)
        case = copy(self)
        case.finished, case.figures, case.resting, case.lost = None, None, turn > 0, False
        if not turn:
            case.started = case.prepared = None
        if case._columns is not None:
            case.renew_columns()
            case.drop(turn)
        return case

    def drop(self, turn: int) -> None:
        """Forget the steps of a round and of those after it."""
        for columns in (self._columns or {}).values():
            columns.drop(turn)

    def renew_columns(self) -> None:
        """Go on with copies of the columns, whoever else holds them."""
        self._columns = self.first(self.sizes())._columns

    def forget_steps(self) -> None:
        """Let go of all steps: what was wanted of them is known."""
        self._columns = None

    def sum_up(self, figures: Metrics | None) -> None:
        """Keep the figures in place of the steps."""
        self.figures = figures
        self.forget_steps()

    @property
    def steps_measured(self) -> int:
        """How many steps count."""
        return self.figures.latency_ms.n if self.figures else len(self.measured)

    @property
    def steps_held(self) -> bool:
        """Whether its steps are there, as far as it has any."""
        return self.figures is None or len((self._columns or {}).get("measure", ())) > 0

    @property
    def parts(self) -> Iterable[str]:
        """The parts of a measured step, in the order in which they came."""
        return self.figures.parts_ms if self.figures else self.measured.parts_ms

    @property
    def name(self) -> str:
        """The readable name of the case's options; of a case run again, with the number of that one."""
        of = self.added.of if self.added else None
        return self.config.name if of is None else f"{self.config.name} (case {of} again)"

    @property
    def state(self) -> str:
        """``queued``, ``running``, or the outcome; between two rounds a case is queued again."""
        if self.finished:
            return self.finished.outcome
        return "running" if self.started and not self.resting else "queued"

    @property
    def node(self) -> str | None:
        """The node of a cluster that it ran on last, or runs on."""
        return self.started.node if self.started else None

    @property
    def cut_short(self) -> bool:
        """Whether it was at work when its session broke off, or its node, so that it begins again."""
        return self.state in CUT_SHORT or (self.lost and self.finished is None)

    @property
    def samples_per_step(self) -> int:
        """Samples that a step handles: the batch size, where the task says no other number."""
        said = self.prepared.samples_per_step if self.prepared else None
        return self.config.batch_size if said is None else said

    @property
    def effective(self) -> Effective | None:
        """What was in force, as it was last read back."""
        if self.finished and self.finished.effective:
            return self.finished.effective
        return self.prepared.effective if self.prepared else None

    @property
    def peak_memory_mb(self) -> float | None:
        """The highest peak that was read: on the device, or of the worker for a case on the processor."""
        return peak_mb(self.config.device, self.finished.memory if self.finished else None)

    @property
    def device_memory_mb(self) -> float | None:
        """That peak where it is memory of a device of its own."""
        return None if self.config.device == "cpu" else self.peak_memory_mb

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader must know before believing the row."""
        prepared = self.prepared.marks if self.prepared else ()
        finished = self.finished.marks if self.finished else ()
        return tuple(dict.fromkeys((*prepared, *finished)))


def peak_mb(device: str, memory: Memory | None) -> float | None:
    """The highest of the peaks that were read: on the device, or of the worker for a case on the processor."""
    if memory is None:
        return None
    if device == "cpu":
        return memory.peak_rss_mb
    peaks = (memory.peak_device_mb, memory.peak_reserved_mb, memory.peak_allocated_mb)
    return max((peak for peak in peaks if peak is not None), default=None)

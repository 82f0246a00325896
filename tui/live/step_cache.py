"""Step cache: which steps and readings the UI keeps in memory.

Ended cases are summarized and most of their steps evicted; so are the oldest readings. Both are reloaded from
the file when such a case is viewed later. Summarizing and reloading run in a thread, since a million steps take
tenths of a second; nothing else waits for them.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal.reader import FilePosition
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics as summarize
from benchtui.tui.live.step_statistics import THREAD_STEPS

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics

MOST_STEPS = 250_000
"""Maximum number of steps of ended cases in memory. Each takes 8 bytes in each of several columns."""
MOST_READINGS = 1_000_000
"""Maximum number of readings in memory, 8 bytes each: five hours of one GPU, or one hour of eight."""
KEPT_FRACTION = 0.75
"""Fraction of ``MOST_READINGS`` left after an eviction."""
LEAST_READINGS_S = 90.0
"""Seconds of newest readings that are never evicted. Gauges show their history."""
ALWAYS_KEPT_STEPS = 200
"""Cases with up to this many steps keep them. Their metrics would take no less memory."""
AT_ONCE = 50
"""Maximum number of cases summarized between two frames."""
POSITION_SPACING_BYTES = 2**18
"""Minimum distance between recorded file positions."""


class LoadedCase(msgspec.Struct, frozen=True):
    """A viewed case with evicted data reloaded: steps, and the machine's readings."""

    case: CaseState
    machine: MachineState


class StepCache:
    """Steps of a session's cases, as far as they are in memory."""

    def __init__(self, path: Path, evicts: bool = True) -> None:
        """Create a cache; ``evicts`` allows evicting steps. A replay needs all of them."""
        self.path = path
        self._evicts = evicts
        self._positions: list[tuple[float, FilePosition]] = []
        """Session time at recorded file positions: where to start when reloading a case."""
        self._with_steps: dict[int, CaseState] = {}
        """Ended cases with more than ``ALWAYS_KEPT_STEPS`` steps in memory, in order of ending."""
        self._steps = 0
        self._to_summarize: dict[int, CaseState] = {}
        """Cases waiting to be summarized, by index."""
        self._requested: tuple[CaseState, MachineState] | None = None
        self.loaded: LoadedCase | None = None
        """The case reloaded last."""
        self.problem = ""
        """Why a reload failed; shown by the screen."""
        self._busy = self._closed = False

    def close(self) -> None:
        """Abandon work still running in a thread."""
        self._closed = True

    def note_position(self, session: Session, position: FilePosition) -> None:
        """Record the file position, if far enough past the last one. Evict old readings."""
        if self._positions and position.offset - self._positions[-1][1].offset < POSITION_SPACING_BYTES:
            return
        self._positions.append((session.now_s, position))
        if self._evicts:
            self._evict_readings(session.machines, session.now_s)

    def add_ended(self, case: CaseState) -> None:
        """Record a case that has ended, and evict the oldest steps beyond the limit.

        A case that didn't end well keeps its steps: a resumed session may continue it.
        """
        if case.state != "ok":
            return
        if len(case.measured) > THREAD_STEPS and case.metrics is None:
            self._to_summarize[case.index] = case
        if self._evicts and len(case.measured) > ALWAYS_KEPT_STEPS:
            self._with_steps[case.index] = case
            self._steps += _steps(case)
            self._evict_steps()

    @property
    def idle(self) -> bool:
        """Whether nothing is left to summarize or reload."""
        return not self._to_summarize and self._requested is None

    @property
    def has_pending_work(self) -> bool:
        """Whether there is work to do and none is in progress."""
        return not self.idle and not self._busy

    def get(self, case: CaseState, machine: MachineState) -> LoadedCase | None:
        """Return a case with its steps and readings. If not loaded, schedule a reload and return None."""
        if self.loaded is not None and self.loaded.case.index == case.index:
            return self.loaded
        self._requested = case, machine
        return None

    async def run_pending(self) -> None:
        """Reload the requested case and summarize a batch of others. No-op if already in progress."""
        if self._busy:
            return
        self._busy = True
        try:
            if wanted := self._requested:
                await self._reload(*wanted)
                if self._requested is wanted:
                    self._requested = None
            if due := list(self._to_summarize.values())[:AT_ONCE]:
                for case, figures in await asyncio.to_thread(self._compute, due):
                    case.metrics = figures
                    del self._to_summarize[case.index]
                    if figures and self._evicts and case.index not in self._with_steps:
                        case.drop_steps()
        finally:
            self._busy = False

    def _evict_readings(self, machines: Sequence[MachineState], now_s: float) -> None:
        """Evict the oldest readings if there are too many."""
        held = sum(trace.numbers for machine in machines for trace in machine.traces)
        if held <= MOST_READINGS:
            return
        held_s = now_s - max(machine.readings_from_s for machine in machines)
        kept_s = max(LEAST_READINGS_S, held_s * KEPT_FRACTION * MOST_READINGS / held)
        for machine in machines:
            machine.drop_before(now_s - kept_s)

    def _evict_steps(self) -> None:
        while self._steps > MOST_STEPS and len(self._with_steps) > 1:
            oldest = self._with_steps.pop(next(iter(self._with_steps)))
            self._steps -= _steps(oldest)
            if oldest.metrics:
                oldest.drop_steps()
            else:
                self._to_summarize[oldest.index] = oldest

    async def _reload(self, case: CaseState, machine: MachineState) -> None:
        try:
            self.loaded = await asyncio.to_thread(self._read, case, machine)
        except BenchtuiError as error:
            self.loaded, self.problem = LoadedCase(case, machine), str(error)

    def _compute(self, cases: Iterable[CaseState]) -> "list[tuple[CaseState, Metrics | None]]":
        return [(case, summarize(case)) for case in cases if not self._closed]

    def _read(self, case: CaseState, machine: MachineState) -> LoadedCase:
        from benchtui.sessions.replay.reloading import reload_case  # lazy import: most cases are never reloaded

        position = self._position_before(case)
        read, there = reload_case(case, machine, self.path, position, lambda: not self._closed)
        return LoadedCase(case if case.steps_in_memory else read, there)

    def _position_before(self, case: CaseState) -> FilePosition:
        """Return a file position before a case's first step. With several rounds that is the file's start."""
        if case.rounds or case.repeated or case.started is None:
            return FilePosition()
        place = bisect_left(self._positions, case.started.t, key=lambda passed: passed[0]) - 1
        return self._positions[place][1] if place >= 0 else FilePosition()


def _steps(case: CaseState) -> int:
    return len(case.measured) + len(case.warmup)

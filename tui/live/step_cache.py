"""Which steps and readings the screen holds.

Cases that have ended are summed up, and most of their steps let go of; so are the oldest readings. A case that
is looked at later has both read once more. That happens in a thread, as summing up does, since a million steps
take tenths of a second; nothing else waits for it.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal.reader import FilePosition
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session
from benchtui.tui.live.running_stats import RunningStats

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics

MOST_STEPS = 250_000
"""Steps of ended cases that are held; of 8 bytes in each of some columns."""
MOST_READINGS = 1_000_000
"""Readings that are held, of 8 bytes each: five hours of a GPU, an hour of eight."""
KEPT = 0.75
"""Part of them that is left when some are let go of."""
LEAST_READINGS_S = 90.0
"""The newest are held in any case, since gauges show their past."""
FEW = 200
"""Up to so many steps a case keeps them: its figures would take no less memory."""
MANY = 20_000
"""From so many on the figures of an ended case are left to the thread, even where its steps are held."""
AT_ONCE = 50
"""Cases summed up between two pictures."""
APART_BYTES = 2**18
"""How far apart the known spots of the file are."""


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A case that is looked at, with what had been let go of: its steps with their spread, and readings."""

    case: CaseState
    spread: RunningStats
    machine: MachineState


class StepCache:
    """The steps of a session's cases, as far as they are held."""

    def __init__(self, path: Path, lets_go: bool = True) -> None:
        """``lets_go``: whether steps may be let go of; a replay needs all of them."""
        self._path = path
        self._lets_go = lets_go
        self._spots: list[tuple[float, FilePosition]] = []
        """Session time so far at places of the file, for where to read a case again."""
        self._held: dict[int, CaseState] = {}
        """Ended cases whose steps are held, but for small ones, in the order in which they ended."""
        self._steps = 0
        self._due: dict[int, CaseState] = {}
        """Cases to be summed up."""
        self._wanted: tuple[CaseState, MachineState] | None = None
        self.looked: LoadedCase | None = None
        """The case that was read again last."""
        self.problem = ""
        """Why steps couldn't be read again, for the screen to say."""
        self._busy = self._closed = False

    def close(self) -> None:
        """Have nobody wait any more for what a thread still does."""
        self._closed = True

    def pass_by(self, session: Session, position: FilePosition) -> None:
        """Take down, some way behind the last one, a spot up to which the file was read; thin out readings."""
        if self._spots and position.offset - self._spots[-1][1].offset < APART_BYTES:
            return
        self._spots.append((session.now_s, position))
        if self._lets_go:
            self._thin_out(session.machines, session.now_s)

    def take_in(self, case: CaseState) -> None:
        """Take in a case that has ended; the oldest are summed up, so that not too many steps are held.

        One that didn't end well keeps its steps: a resumed session may go on with it.
        """
        if case.state != "ok":
            return
        if len(case.measured) > MANY and case.figures is None:
            self._due[case.index] = case
        if self._lets_go and len(case.measured) > FEW:
            self._held[case.index] = case
            self._steps += _steps(case)
            self._let_go()

    @property
    def idle(self) -> bool:
        """Whether all is summed up and read that is to be."""
        return not self._due and self._wanted is None

    @property
    def waits(self) -> bool:
        """Whether something is to be summed up or read, and nobody is at it."""
        return not self.idle and not self._busy

    def looked_at(self, case: CaseState, machine: MachineState) -> LoadedCase | None:
        """A case with its steps and the readings of its machine; None while they are read again from now on."""
        if self.looked is not None and self.looked.case.index == case.index:
            return self.looked
        self._wanted = case, machine
        return None

    async def go_on(self) -> None:
        """Read again what is wanted, and sum up some of what is due, unless that is being done."""
        if self._busy:
            return
        self._busy = True
        try:
            if wanted := self._wanted:
                await self._read_again(*wanted)
                if self._wanted is wanted:
                    self._wanted = None
            if due := list(self._due.values())[:AT_ONCE]:
                for case, figures in await asyncio.to_thread(self._figures, due):
                    self._sum_up(case, figures)
        finally:
            self._busy = False

    def _thin_out(self, machines: Sequence[MachineState], now_s: float) -> None:
        """Let go of the oldest readings, where there are too many."""
        held = sum(trace.numbers for machine in machines for trace in machine.traces)
        if held <= MOST_READINGS:
            return
        held_s = now_s - max(machine.begun_s for machine in machines)
        kept_s = max(LEAST_READINGS_S, held_s * KEPT * MOST_READINGS / held)
        for machine in machines:
            machine.forget(now_s - kept_s)

    def _let_go(self) -> None:
        while self._steps > MOST_STEPS and len(self._held) > 1:
            oldest = self._held.pop(next(iter(self._held)))
            self._steps -= _steps(oldest)
            if oldest.figures:
                oldest.forget_steps()
            else:
                self._due[oldest.index] = oldest

    def _sum_up(self, case: CaseState, figures: "Metrics | None") -> None:
        case.figures = figures
        del self._due[case.index]
        if figures and self._lets_go and case.index not in self._held:
            case.forget_steps()

    async def _read_again(self, case: CaseState, machine: MachineState) -> None:
        try:
            self.looked = await asyncio.to_thread(self._read, case, machine)
        except BenchtuiError as error:
            self.looked, self.problem = LoadedCase(case, RunningStats(), machine), str(error)

    def _figures(self, cases: Iterable[CaseState]) -> "list[tuple[CaseState, Metrics | None]]":
        from benchtui.sessions.stats.case_metrics import (
            metrics,  # numpy: a tenth of a second that no key waits for
        )

        return [(case, metrics(case)) for case in cases if not self._closed]

    def _read(self, case: CaseState, machine: MachineState) -> LoadedCase:
        from benchtui.sessions.replay.loading import read_again  # most cases are never read again

        position = self._spot_before(case)
        read, there = read_again(case, machine, self._path, position, lambda: not self._closed)
        whole = case if case.steps_held else read
        return LoadedCase(whole, RunningStats(whole.measured.wall_ms), there)

    def _spot_before(self, case: CaseState) -> FilePosition:
        """A place of the file before a case's first step; with several rounds the beginning."""
        if case.rounds or case.repeated or case.started is None:
            return FilePosition()
        place = bisect_left(self._spots, case.started.t, key=lambda passed: passed[0]) - 1
        return self._spots[place][1] if place >= 0 else FilePosition()


def _steps(case: CaseState) -> int:
    return len(case.measured) + len(case.warmup)

"""Turns: several workers are measured at the same time, but only one of them runs at any moment.

A machine changes its pace within seconds: other virtual machines use the hyperthreads of its processors, clocks
rise and fall. Processes that take turns every few hundredths of a second run at the same paces, so that these
cancel out in the ratios of their steps.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

from benchtui.engine.job import TurnOrder
from benchtui.sessions.payloads import Turns as TurnsTaken

SLICE_MS = 10.0
"""Time of the recorded steps of a turn, if its steps aren't longer. Of 10, 50 and 200 ms, the standard error of
a ratio after 4 s was 1.6, 2.4 and 5.8% on a virtual machine whose pace changed every 1 to 5 s (6 runs each)."""
LEAD_IN_MS = 6.0
"""Time of the steps before them that aren't recorded. Another worker has replaced the contents of the caches,
and its OpenMP threads still wait actively: steps of 2 ms took 34, 11 and 7% longer at first."""
LONG_STEP_MS = 50.0
"""Duration from which a step hardly depends on that, so that each one is recorded."""
FIRST_STEPS = 3
"""Steps at the start of the first turn, whose duration decides how many are recorded per turn."""
LEAST_MS = 0.01
"""Minimum duration that is assumed of a step."""
SLICES = 75
"""Turns of a round, unless they take longer than ``TURNS_S``."""
LEAST_SLICES = 6
"""Turns of a round in any case, unless the sweep's time limit ends it."""


class Pipes(NamedTuple):
    """A worker's ends of the pipes to the one before it and the one after it."""

    before: Connection
    after: Connection

    def close(self) -> None:
        """Close both."""
        self.before.close()
        self.after.close()


class Turns:
    """The turns of this worker. The right to run goes round over pipes."""

    def __init__(self, order: TurnOrder, pipes: Pipes, timeout_s: float) -> None:
        """``timeout_s`` is the time limit of a case: after one for each other worker, these hang."""
        self.workers = len(order.rounds)
        self._order = order
        self._pipes = pipes
        self._most_wait_s = timeout_s * (self.workers - 1)
        self._is_own = order.place == 0
        self._enough_before = 0
        """Workers right before this one that only go on for the sake of others."""
        self._broken = False
        """Whether a worker next to this one has ended or hangs."""

    @property
    def others_have_enough(self) -> bool:
        """Whether all others only go on for the sake of this worker; also if one of them has ended."""
        return self._broken or self._enough_before >= self.workers - 1

    def wait(self) -> None:
        """Wait for this worker's turn. It lasts forever once the worker before it has ended or hangs."""
        if self._is_own:
            return
        message = b""
        with suppress(EOFError, OSError):
            if self._pipes.before.poll(self._most_wait_s):
                message = self._pipes.before.recv_bytes()
        self._is_own = True
        if message:
            self._enough_before = message[0]
        else:
            self._broken = True
            self._pipes.before.close()

    def pass_on(self, *, enough: bool = False) -> None:
        """Let the next worker run, and tell it how many before it have been measured enough."""
        amount = min(self._enough_before + 1, self.workers - 1) if enough else 0
        try:
            self._pipes.after.send_bytes(bytes([amount]))
            self._is_own = False
        except OSError:  # it has ended
            self._broken = self._broken or not (enough and self.others_have_enough)

    def end(self) -> None:
        """Let the next worker end as well."""
        if self._is_own:
            self.pass_on(enough=True)

    def taken(self, slice_steps: int) -> TurnsTaken | None:
        """Return the record of the turns; None if another worker ended too early."""
        if self._broken:
            return None
        first, *others = (other for place, other in enumerate(self._order.rounds) if place != self._order.place)
        return TurnsTaken(case=first.case, round=first.round, slice_steps=slice_steps, others=tuple(others))


@contextmanager
def on_one_processor() -> Iterator[None]:
    """Run this thread on the first of its processors, as the others do: each has a pace of its own.

    After 3 s of turns, the ratio of equal steps deviated by 0.4 to 0.7% on one processor and by 1.0 to 1.3% on
    any (4 runs each, next to other work). Threads that run already, such as OpenMP's, keep all processors.
    """
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if not usable:
        yield
        return
    os.sched_setaffinity(0, {min(usable)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


def slice_steps(step_ms: float) -> int:
    """Return the recorded steps of a turn."""
    return max(1, round(SLICE_MS / step_ms))

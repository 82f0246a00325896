"""Turns: a worker and its partner are measured at the same time, but only one of them runs at any moment.

A machine changes its pace within seconds: other virtual machines use the hyperthreads of its processors, clocks
rise and fall. Two processes that take turns every few hundredths of a second run at the same paces, so that
these cancel out in the ratio of their steps.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from benchtui.engine.job import Partner
from benchtui.sessions.payloads import Turns as TurnsTaken

SLICE_MS = 10.0
"""Time of the recorded steps of a turn, if its steps aren't longer. Of 10, 50 and 200 ms, the standard error of
a ratio after 4 s was 1.6, 2.4 and 5.8% on a virtual machine whose pace changed every 1 to 5 s (6 runs each)."""
LEAD_IN_MS = 6.0
"""Time of the steps before them that aren't recorded. The partner has replaced the contents of the caches, and
its OpenMP threads still wait actively: steps of 2 ms took 34, 11 and 7% longer at first."""
LONG_STEP_MS = 50.0
"""Duration from which a step hardly depends on that, so that each one is recorded."""
FIRST_STEPS = 3
"""Steps at the start of the first turn, whose duration decides how many are recorded per turn."""
LEAST_MS = 0.01
"""Minimum duration that is assumed of a step."""
SLICES = 75
"""Turns of a round, unless they take longer than ``MOST_S``."""
MOST_S = 2.0
"""Seconds after which the turns of a worker suffice if the sweep's own rule is satisfied."""

_GO_ON, _ENOUGH = b"g", b"e"


class Turns:
    """The turns of this worker, passed to and fro over a pipe."""

    def __init__(self, partner: Partner, pipe: Connection, most_wait_s: float) -> None:
        """``most_wait_s`` is the time after which the partner is considered to hang."""
        self._partner = partner
        self.partner_has_enough = False
        """Whether the partner only goes on for the sake of this worker; also if it has ended."""
        self._pipe = pipe
        self._most_wait_s = most_wait_s
        self._is_own = partner.first

    def wait(self) -> None:
        """Wait for this worker's turn. It lasts forever once the partner has ended or hangs."""
        if self._is_own:
            return
        message = b""
        with suppress(EOFError, OSError):
            if self._pipe.poll(self._most_wait_s):
                message = self._pipe.recv_bytes()
        self._is_own, self.partner_has_enough = True, message != _GO_ON
        if not message:
            self._pipe.close()

    def taken(self, slice_steps: int) -> TurnsTaken:
        """Return the record of the turns."""
        return TurnsTaken(case=self._partner.case, round=self._partner.round, slice_steps=slice_steps)

    def pass_on(self, *, enough: bool = False) -> None:
        """Let the partner run, and tell it whether this worker has been measured enough."""
        try:
            self._pipe.send_bytes(_ENOUGH if enough else _GO_ON)
            self._is_own = False
        except OSError:  # it has ended
            self.partner_has_enough = True


@contextmanager
def on_one_processor() -> Iterator[None]:
    """Run this thread on the first of its processors, as the partner does: each has a pace of its own.

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

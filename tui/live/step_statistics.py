"""Statistics of the steps so far of each case.

They are those of the report, whose module imports numpy. There are none until ``load`` has imported it, in a
thread after the first paint. Those of many steps are computed in a thread, too.
"""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

import asyncio
from array import array
from collections.abc import Hashable
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchtui.sessions.stats.distribution import Distribution

THREAD_STEPS = 20_000
"""Above this many steps, statistics are computed in a thread."""
RECOMPUTE_GROWTH = 1.02
"""Growth factor in steps that triggers computing them again."""

_loaded = Event()


def load() -> None:
    """Import the statistics, which takes 0.1 s."""
    from benchtui.sessions.stats import case_metrics  # noqa: F401  (imported here, so that screens paint first)

    _loaded.set()


def loaded() -> bool:
    """Return whether statistics can be computed without waiting for an import."""
    return _loaded.is_set()


class StepStatistics:
    """Distributions of columns of times that steps are appended to."""

    def __init__(self) -> None:
        self._computed: dict[Hashable, Distribution] = {}
        self._due: dict[Hashable, array[float]] = {}
        """Copies of the columns to compute in a thread. An array can't grow while numpy reads it."""
        self._busy = False

    def of(self, key: Hashable, times_ms: array[float], first: int = 0) -> Distribution | None:
        """Return the distribution of a column from its ``first`` step on; None if there is none, or not yet.

        That of many steps may lack the newest ones. A column that lost steps needs another key.
        """
        n = len(times_ms) - first
        if not n or not loaded():
            return None
        known = self._computed.get(key)
        if known is None or known.n != n:
            if n <= THREAD_STEPS:
                from benchtui.sessions.stats.distribution import distribution  # loaded by now

                known = distribution(times_ms[first:])
                if known is not None:
                    self._computed[key] = known
            elif key not in self._due and (known is None or n >= RECOMPUTE_GROWTH * known.n):
                self._due[key] = times_ms[first:]
        return known

    @property
    def has_pending_work(self) -> bool:
        """Whether there is work for a thread and none is in progress."""
        return bool(self._due) and not self._busy

    async def compute_pending(self) -> None:
        """Compute in a thread what has to be computed there."""
        from benchtui.sessions.stats.distribution import distribution  # loaded by now

        self._busy = True
        try:
            for key, times_ms in list(self._due.items()):
                spread = await asyncio.to_thread(distribution, times_ms)
                del self._due[key]
                if spread is not None:
                    self._computed[key] = spread
        finally:
            self._busy = False

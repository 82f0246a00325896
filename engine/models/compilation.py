"""Compilation: ``torch.compile``, whether it really happened, and when it happens again."""

from typing import Any

import torch

from benchtui.sessions.payloads import Compiling


def compile_network(module: torch.nn.Module, mode: str) -> Any:  # noqa: ANN401  (a compiled module is called like a plain one)
    """Return the module compiled in this mode of ``torch.compile``, or unchanged for ``off``."""
    if mode == "off":
        return module
    return torch.compile(module, mode=None if mode == "default" else mode)


def graphs() -> int:
    """Number of graphs torch has compiled in this process."""
    return _counts()[0]


class CompileWatch:
    """Record of the steps in which the compiler ran, by its own counters."""

    def __init__(self) -> None:
        self._begin = self._last = _counts()
        self._seen = 0
        self._unsteady: list[int] = []
        self._cold: tuple[int, ...] = ()

    def begin_measuring(self) -> None:
        """End the warm-up: the steps checked so far were warm-up steps, and measured steps count from 0."""
        self._cold, self._unsteady = tuple(self._unsteady), []
        self._begin, self._seen = self._last, 0

    def check(self, steps: int) -> None:
        """Check the counters after ``steps`` steps of the warm-up, or of the measured phase.

        If one has changed, the compiler ran in the steps since the last check.
        """
        now = _counts()
        if now != self._last:
            self._unsteady += range(self._seen, steps)
        self._last, self._seen = now, steps

    def result(self) -> Compiling:
        """Return what the compiler has done so far."""
        graphs, breaks, _ = self._last
        return Compiling(
            graphs=graphs,
            graph_breaks=breaks,
            recompiles=graphs - self._begin[0],
            cold=self._cold,
            unsteady=tuple(self._unsteady),
        )


def _counts() -> tuple[int, int, int]:
    """Compiled graphs, graph breaks and inspected frames since the process started."""
    from torch._dynamo.utils import (
        counters,  # takes a second to import, which other cases save
    )

    breaks = sum(counters["graph_break"].values())
    return int(counters["stats"]["unique_graphs"]), int(breaks), int(counters["frames"]["total"])

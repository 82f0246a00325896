"""Compiling a network, whether that really happened, and when it happens again."""

from typing import Any

import torch

from benchtui.sessions.payloads import Compiling


def network(module: torch.nn.Module, mode: str) -> Any:  # noqa: ANN401  (a compiled module is called as the plain one)
    """The module as it is to be called: compiled in this mode of ``torch.compile``, or as it is for ``off``."""
    if mode == "off":
        return module
    return torch.compile(module, mode=None if mode == "default" else mode)


def graphs() -> int:
    """How many graphs torch has compiled in this process."""
    return _counts()[0]


class CompileWatch:
    """Notes in which measured steps the compiler was at work, by its own counters."""

    def __init__(self) -> None:
        self._begin = self._last = _counts()
        self._seen = 0
        self._unsteady: list[int] = []

    def look(self, steps: int) -> None:
        """Look after so many measured steps: where a counter moved, those since the last look aren't steady."""
        now = _counts()
        if now != self._last:
            self._unsteady += range(self._seen, steps)
        self._last, self._seen = now, steps

    def facts(self) -> Compiling:
        """What the compiler did so far."""
        graphs, breaks, _ = self._last
        return Compiling(
            graphs=graphs,
            graph_breaks=breaks,
            recompiles=graphs - self._begin[0],
            unsteady=tuple(self._unsteady),
        )


def _counts() -> tuple[int, int, int]:
    """Graphs compiled, graph breaks, and frames looked at, since the process began."""
    from torch._dynamo.utils import (
        counters,  # a second that other cases need not spend
    )

    breaks = sum(counters["graph_break"].values())
    return int(counters["stats"]["unique_graphs"]), int(breaks), int(counters["frames"]["total"])

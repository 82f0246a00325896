"""Compilation: ``torch.compile``, whether it took effect, and recompilations."""

import sys
from typing import Any, NamedTuple

import torch

from benchtui.sessions.payloads import Compiling


def compile_network(module: torch.nn.Module, mode: str) -> Any:  # noqa: ANN401  (a compiled module is called like a plain one)
    """Return the module compiled in this mode of ``torch.compile``, or unchanged for ``off``."""
    if mode == "off":
        return module
    return torch.compile(module, mode=None if mode == "default" else mode)


def graphs() -> int:
    """Number of graphs torch has compiled in this process. Doesn't load the compiler."""
    return _counts().graphs if "torch._dynamo" in sys.modules else 0


class Counts(NamedTuple):
    """Torch's counters of compilation since the process started."""

    graphs: int
    breaks: int
    frames: int
    """Frames of Python code that the compiler inspected."""
    recorded_inputs: int
    """Inputs of recorded CUDA graphs that are copied at each replay. A recording may add none."""
    recordings: int | None = None
    """CUDA graphs recorded since counting began; None if they aren't counted."""


class Recordings:
    """Number of CUDA graphs that torch has recorded since this was created."""

    def __init__(self) -> None:
        self.count: int | None = None
        """None if this release of torch doesn't report recordings."""
        try:
            from torch._dynamo.callback import CallbackTrigger, callback_handler  # as in _counts

            self._trigger: object = CallbackTrigger.CUDAGRAPH_RECORDING
        except (ImportError, AttributeError):
            return
        self.count = 0
        callback_handler.register_start_callback(self._started)

    def _started(self, args: Any) -> None:  # noqa: ANN401  (CallbackArgs, which older releases lack)
        if self.count is not None and args.callback_trigger is self._trigger:
            self.count += 1


class CompileWatch:
    """Record of the steps in which torch compiled or recorded CUDA graphs, according to torch's counters."""

    def __init__(self, cuda_graphs: bool = False) -> None:
        """Start watching. Set ``cuda_graphs`` if the mode records CUDA graphs on this device."""
        self._recordings = Recordings() if cuda_graphs else None
        self._begin = self._last = self._counts()
        self._seen = 0
        self._unsteady: list[int] = []
        self._cold: tuple[int, ...] = ()

    def begin_measuring(self) -> None:
        """End the warm-up: the steps checked so far were warm-up steps, and measured steps count from 0."""
        self._cold, self._unsteady = tuple(self._unsteady), []
        self._begin, self._seen = self._last, 0

    def check(self, steps: int) -> bool:
        """Check the counters after ``steps`` steps of the warm-up, or of the measured phase.

        Return whether one has changed: the compiler was active in the steps since the last check.
        """
        now = self._counts()
        active = now != self._last
        if active:
            self._unsteady += range(self._seen, steps)
        self._last, self._seen = now, steps
        return active

    def result(self) -> Compiling:
        """Return what the compiler has done so far."""
        last = self._last
        return Compiling(
            graphs=last.graphs,
            graph_breaks=last.breaks,
            recompiles=last.graphs - self._begin.graphs,
            cuda_graphs=last.recordings,
            cuda_graph_skips=_cuda_graph_skips() if self._recordings else None,
            cold=self._cold,
            unsteady=tuple(self._unsteady),
        )

    def _counts(self) -> Counts:
        return _counts()._replace(recordings=self._recordings.count if self._recordings else None)


def applied_cuda_graphs(compiling: Compiling | None) -> bool | None:
    """Return whether every compiled graph ran as a CUDA graph; None if not requested, or unknown."""
    if compiling is None:
        return None
    if compiling.cuda_graph_skips:
        return False
    return None if compiling.cuda_graphs is None else compiling.cuda_graphs > 0


def _counts() -> Counts:
    from torch._dynamo.utils import counters  # takes a second to import; imported only in cases that need it

    breaks = sum(counters["graph_break"].values())
    return Counts(
        graphs=int(counters["stats"]["unique_graphs"]),
        breaks=int(breaks),
        frames=int(counters["frames"]["total"]),
        recorded_inputs=int(counters["inductor"]["cudagraph_recorded_non_static_inputs"]),
    )


def _cuda_graph_skips() -> int:
    """Return how often torch compiled a graph but refused to record it as a CUDA graph."""
    from torch._dynamo.utils import counters  # as in _counts

    return int(counters["inductor"]["cudagraph_skips"])

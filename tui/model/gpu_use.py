"""GPU use: which GPUs of a machine the session's cases run on, and which others use."""

from collections.abc import Iterable
from itertools import takewhile

import msgspec

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Trace
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session
from benchtui.themes.gauges import Standing

FOREIGN_S = 2.0
"""Seconds without one of our cases on a GPU, after which its load is attributed to other processes."""
FOREIGN_PERCENT = 10.0
"""Minimum utilization in percent, throughout that time, for a GPU to count as used by others."""
FOREIGN_MB = 1000.0
"""Memory in MB from which a GPU counts as used by others. An idle driver or a desktop takes less."""


class GpuUse(msgspec.Struct, frozen=True):
    """GPUs of a machine by the driver's index."""

    own: frozenset[int]
    """GPUs of the shown case, or of all running ones."""
    shared: frozenset[int]
    """GPUs of ``own`` that other processes used while a case was measured."""
    foreign: frozenset[int]
    """GPUs used by other processes but by none of our cases."""

    def standing(self, index: int) -> Standing:
        """Return who uses a GPU; ``plain`` if the shown case has none, or its GPU is unknown."""
        if index in self.foreign:
            return "foreign"
        if index in self.own:
            return "shared" if index in self.shared else "own"
        return "other" if self.own else "plain"


def gpu_use(session: Session, machine: MachineState, shown: Iterable[CaseState]) -> GpuUse:
    """Return who uses the GPUs of a machine, of which those of the ``shown`` cases are marked."""
    here = [case for case in shown if session.ran_on(case) is machine]
    gpus = {case.index: _gpu(session, case) for case in here}
    own = frozenset(gpu for gpu in gpus.values() if gpu is not None)
    shared = {gpu for case in here if (gpu := gpus[case.index]) is not None and _was_shared(case)}
    return GpuUse(own, frozenset(shared), _foreign(session, machine))


def _foreign(session: Session, machine: MachineState) -> frozenset[int]:
    """Return the GPUs that others use; none while the GPU of one of our cases is unknown.

    After the idle readings and before the first case, the load is that of measuring the devices' peaks.
    """
    began = bool(session.done or session.running or session.rounds_ended)
    if not machine.gpus or (machine.idle is not None and not began and not machine.idle.gpu_processes):
        return frozenset()  # skips the search: without readings, all cases would count as recent
    since_s = machine.newest_s - FOREIGN_S
    recent = _recent(session, since_s)
    ours = [case for case in recent if case.config.device != "cpu" and session.ran_on(case) is machine]
    own_gpus = {_gpu(session, case) for case in ours}
    if None in own_gpus:
        return frozenset()
    return frozenset(
        index for index, trace in machine.gpus.items() if index not in own_gpus and _in_use(trace, since_s)
    )


def _recent(session: Session, since_s: float) -> list[CaseState]:
    """Return the cases that ran at or after a session time: a few of possibly very many."""
    newest = takewhile(lambda case: case.finished and case.finished.t >= since_s, reversed(session.ended))
    recent = [*session.running, *newest]
    if session.start.sweep.measure.repeats:
        waiting = (case for case in session.cases if case.between_rounds and case.rounds)
        recent += [case for case in waiting if case.rounds[-1].t >= since_s]
    return recent


def _in_use(trace: Trace, since_s: float) -> bool:
    if (trace.latest("memory_used_mb") or 0.0) >= FOREIGN_MB:
        return True
    loads = trace.columns.get("utilization_percent", ())
    if not loads or trace.at_s[0] > since_s:
        return False
    first = next((place for place in range(len(loads) - 1, -1, -1) if trace.at_s[place] < since_s), -1) + 1
    return all(load >= FOREIGN_PERCENT for load in loads[first:]) and first < len(loads)


def _gpu(session: Session, case: CaseState) -> int | None:
    """Return the driver's index of a case's GPU. While the case loads, use earlier cases on the same device."""
    gpu = session.gpu_of(case)
    if gpu is not None or not case.config.device.startswith("cuda"):
        return gpu
    machine, device = session.ran_on(case), case.config.device
    same = (other for other in reversed(session.ended) if other.prepared and other.config.device == device)
    return next((session.gpu_of(other) for other in same if session.ran_on(other) is machine), None)


def _was_shared(case: CaseState) -> bool:
    """Return whether other processes were on the GPU of a case while it was measured."""
    recorded = [end.environment for end in (case.finished, *case.rounds) if end is not None]
    return any(environment is not None and environment.gpu_processes for environment in recorded)

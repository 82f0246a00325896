"""Processes and tracks of a trace: the session, each machine with its workers, each GPU."""

from collections.abc import Iterable, Iterator

import msgspec

from benchtui.sessions.export.trace.counters import HostCounters
from benchtui.sessions.export.trace.writer import TraceWriter, Track, microseconds
from benchtui.sessions.payloads import Host
from benchtui.sessions.state.machine import MachineState, NodeState
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED, labeled, simulation_note

SESSION = 1
"""Process of the session itself; machines and their GPUs follow."""
LOG, QUEUE = Track(SESSION, 1), Track(SESSION, 2)
DISTURBANCES = 1
"""Thread of a machine that shows when it stalled, and of a GPU that shows throttling."""


class WorkerTrack(msgspec.Struct):
    """Track that shows one worker at a time."""

    track: Track
    free: bool = True
    end_us: int = 0
    """End of the newest slice: the next one doesn't start before it."""


class MachineTracks:
    """Tracks of one machine."""

    def __init__(self, writer: TraceWriter, process: int) -> None:
        self.counters = HostCounters(writer, process)
        self.disturbances = Track(process, DISTURBANCES)
        self.gpus: dict[int, int] = {}
        """Process of each GPU by its index."""
        self._writer = writer
        self._process = process
        self._threads = DISTURBANCES
        self._workers: dict[str, list[WorkerTrack]] = {}

    def worker(self, device: str) -> WorkerTrack:
        """Return a free track for a worker on a device; a new one if all are in use."""
        tracks = self._workers.setdefault(device, [])
        worker_track = next((candidate for candidate in tracks if candidate.free), None)
        if worker_track is None:
            self._threads += 1
            worker_track = WorkerTrack(Track(self._process, self._threads))
            again = f" ({len(tracks) + 1})" if tracks else ""
            self._writer.name_track(worker_track.track, f"worker {device}{again}")
            tracks.append(worker_track)
        worker_track.free = False
        return worker_track


def lay_out(session: Session, writer: TraceWriter) -> dict[str | None, MachineTracks]:
    """Name all processes and tracks except those of workers, and write the throttling of the GPUs.

    Returns:
        The tracks of each machine by the name of its node; None for the engine's machine.
    """
    start = session.start
    writer.name_process(SESSION, labeled(start.sweep.name, start), simulation_note(start) or "")
    writer.name_track(LOG, "log")
    writer.name_track(QUEUE, "queue")
    simulated = f"{SIMULATED} " if session.simulated else ""
    by_node: dict[str | None, MachineTracks] = {}
    process = SESSION
    for node, name, machine in _machines(session):
        process += 1
        writer.name_process(process, f"{simulated}{name}")
        tracks = by_node[node] = MachineTracks(writer, process)
        writer.name_track(tracks.disturbances, "disturbances")
        for index, gpu in _gpus(machine.host if isinstance(machine, NodeState) else start.host, machine):
            process += 1
            tracks.gpus[index] = process
            writer.name_process(process, f"{simulated}{name}: GPU {index}{gpu}")
            _write_throttling(writer, process, machine, index)
    return by_node


def _machines(session: Session) -> Iterator[tuple[str | None, str, MachineState]]:
    """Yield the node, the name and the state of each machine."""
    yield None, session.start.host.hostname or "this machine", session.machine
    for name, node in session.nodes.items():
        yield name, name, node


def _gpus(host: Host, machine: MachineState) -> Iterable[tuple[int, str]]:
    """Return the index of each GPU that was described or sampled, and its name after a space."""
    names = {gpu.index: f" {gpu.name}" for gpu in host.gpus}
    return sorted((dict.fromkeys(machine.gpus, "") | names).items())


def _write_throttling(writer: TraceWriter, process: int, machine: MachineState, index: int) -> None:
    spans = [span for span in machine.throttle_spans.get(index, ()) if span.reasons]
    track = Track(process, DISTURBANCES)
    if spans:
        writer.name_track(track, "clock throttled")
    end_us = 0
    for span in spans:
        category = "throttling" if span.throttled else "clock limit"
        begin_us = max(end_us, microseconds(span.start_s))
        end_us = max(begin_us, microseconds(span.end_s))
        name = span.reasons.replace("_", " ").replace("+", ", ")
        writer.slice(track, (begin_us, end_us), name, category)

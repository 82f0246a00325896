"""Machine watch: readings of a machine and its users while nothing is measured, in a thread."""

import os
import threading
import time
from collections.abc import Callable

from benchtui.engine.telemetry.gpu.open import open_gpus
from benchtui.engine.telemetry.gpu.reader import GpuReader, GpusUnavailable
from benchtui.engine.telemetry.host import HostReader
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.telemetry.neighbors.processes import busiest, named, process_times
from benchtui.engine.telemetry.sampler import Sampler
from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import Host, MachineUsers, Neighbor

SAMPLE_S, USERS_S = 1.0, 3.0
"""Seconds between two samples, and between two readings of the processes, which take much longer."""
FIRST_SPAN_S = 0.25
"""Time over which the first use of the processors is read."""

Emit = Callable[[Host | Telemetry | MachineUsers], None]
"""Receives the description of the machine, then its readings and users. Called from other threads."""


class MachineWatch:
    """Thread that reads a machine until it is stopped. Times of readings are those of ``time.monotonic``."""

    def __init__(self, emit: Emit) -> None:
        """Start reading. ``emit`` must not raise."""
        self._emit = emit
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading soon. A driver that hangs isn't waited for."""
        self._stopped.set()

    def _run(self) -> None:
        host = HostReader()
        host.read(time.monotonic(), ())  # use of the processors is read between two moments
        gpus = open_gpus()
        reader = None if isinstance(gpus, GpusUnavailable) else gpus
        try:
            self._send(describe_host(gpus))
            self._stopped.wait(FIRST_SPAN_S)
            self._sample(reader, host)
        finally:
            if reader is not None:
                reader.close()

    def _sample(self, reader: GpuReader | None, host: HostReader) -> None:
        sampler = Sampler(reader, clock=time.monotonic, emit=self._send, period_s=SAMPLE_S, batch=1, host=host)
        sampler.start()
        before_s, before = time.monotonic(), process_times()
        self._send(MachineUsers(gpus=_gpu_users(reader)))
        while not self._stopped.wait(USERS_S):
            now_s, now = time.monotonic(), process_times()
            users = busiest(before, now, now_s - before_s, os.getpid())
            self._send(MachineUsers(gpus=_gpu_users(reader), busiest=users))
            before_s, before = now_s, now
        sampler.stop()

    def _send(self, reading: Host | Telemetry | MachineUsers) -> None:
        if not self._stopped.is_set():
            self._emit(reading)


def _gpu_users(reader: GpuReader | None) -> dict[int, tuple[Neighbor, ...]]:
    if reader is None:
        return {}
    pids = {gpu.index: reader.processes(gpu.uuid) for gpu in reader.gpus() if gpu.uuid}
    return {index: named(on_gpu) for index, on_gpu in pids.items() if on_gpu is not None}

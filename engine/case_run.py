"""One running case: its execution, and what the supervisor's own readings add to its outcome."""

from collections.abc import Iterator
from time import monotonic

import msgspec

from benchtui.engine.energy import PowerLog
from benchtui.engine.executors.local import LocalExecution, WorkerEvent
from benchtui.engine.telemetry.nvml import Nvml
from benchtui.sessions.events import CaseFinished, CasePrepared, Energy, Host, Memory, Outcome

_DEVICE_MEMORY_PERIOD_S = 1.0
"""Process lists hold the driver's lock, and are asked for this often at most."""


class CaseRun:
    """A case on its way, with the power and the memory that the driver shows of it."""

    def __init__(self, execution: LocalExecution, nvml: Nvml | None, host: Host, power: PowerLog) -> None:
        self.execution = execution
        self.finished: CaseFinished | None = None
        self._nvml = nvml
        self._host = host
        self._power = power
        self._gpu_uuid: str | None = None
        self._device_mb: float | None = None
        self._asked_s = 0.0

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        """The events that have come, the last one with the supervisor's readings added."""
        for event in self.execution.collect(now_s):
            self._read_device_memory()
            if isinstance(event, CasePrepared):
                self._gpu_uuid = event.gpu_uuid
            if isinstance(event, CaseFinished):
                event = self.finished = self._complete(event)
            yield event

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Kill the case."""
        self.execution.end(outcome, reason, now_s)

    def _read_device_memory(self) -> None:
        if not self._nvml or not self._gpu_uuid or monotonic() - self._asked_s < _DEVICE_MEMORY_PERIOD_S:
            return
        self._asked_s = monotonic()
        used_mb = self._nvml.process_memory_mb(self._gpu_uuid, self.execution.pid)
        if used_mb is not None:
            self._device_mb = max(used_mb, self._device_mb or 0.0)

    def _complete(self, event: CaseFinished) -> CaseFinished:
        if event.outcome != "ok" or event.measured_s is None:
            return event
        memory = msgspec.structs.replace(event.memory or Memory(), peak_device_mb=self._device_mb)
        return msgspec.structs.replace(event, memory=memory, energy=self._energy(*event.measured_s))

    def _energy(self, begin_s: float, end_s: float) -> Energy:
        if not self._gpu_uuid:
            reason = self._host.absent.get("rapl", "the processor's energy counter isn't read by this version")
            return Energy(absent=reason)
        index = next((gpu.index for gpu in self._host.gpus if gpu.uuid == self._gpu_uuid), None)
        if index is None:
            return Energy(
                absent=self._host.absent.get("gpu", "the driver doesn't list the device torch computes on")
            )
        return self._power.over(index, begin_s, end_s)

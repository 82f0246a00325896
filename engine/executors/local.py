"""Local executor: cases on this machine."""

from collections.abc import Mapping, Sequence

from benchtui.engine.executor import ExecutorContext, Node
from benchtui.engine.job import Job
from benchtui.engine.node.case_execution import CaseRun
from benchtui.engine.node.preflight import IdleAndTorchTask, PeaksTask
from benchtui.engine.node.runner import NodeRunner, NodeSettings
from benchtui.engine.node.worker_processes import WorkerProcesses
from benchtui.engine.telemetry.visible_gpus import visible_devices_setting
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.payloads import Host


class LocalExecutor:
    """Executor with a single node, inside the engine's own process."""

    remarks = ()

    def __init__(self, processes: WorkerProcesses | None = None) -> None:
        self._station = NodeRunner(processes)
        self.nodes = (Node(None, self.host, visible=visible_devices_setting()),)

    @property
    def host(self) -> Host:
        """The engine's machine."""
        return self._station.host

    def open(self, setting: ExecutorContext) -> None:
        """Start reading telemetry."""
        self._station.open(NodeSettings(setting.zero_s, setting.env, setting.dataset), setting.emit)

    def prepare(self) -> IdleAndTorchTask:
        """Measure idle power and query torch."""
        return self._station.prepare()

    def peaks(self, wanted: Mapping[str | None, Sequence[PeakKey]]) -> PeaksTask:
        """Measure device peaks."""
        return self._station.peaks(wanted.get(None, ()))

    def start(self, job: Job, node: str | None) -> CaseRun:
        """Start a case; raise BenchtuiError if that fails."""
        return self._station.start(job)

    def close(self) -> None:
        """Stop telemetry and processes, and remove the scratch folder."""
        self._station.close()

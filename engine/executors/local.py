"""Local executor: cases on this machine."""

from collections.abc import Mapping, Sequence

from benchtui.engine.executor import Execution, ExecutorContext, Node
from benchtui.engine.job import Job
from benchtui.engine.node.preflight import NodeTask
from benchtui.engine.node.runner import NodeRunner
from benchtui.engine.node.worker_processes import WorkerProcesses
from benchtui.engine.telemetry.gpu.cuda_presence import visible_devices_setting
from benchtui.sessions.analysis.roofline import PeakKey
from benchtui.sessions.payloads import Host


class LocalExecutor:
    """Executor with a single node, inside the engine's own process."""

    warnings = ()

    def __init__(self, processes: WorkerProcesses | None = None) -> None:
        self._runner = NodeRunner(processes)
        self.nodes = (Node(None, self.host, visible=visible_devices_setting()),)

    @property
    def host(self) -> Host:
        """The engine's machine."""
        return self._runner.host

    def open(self, context: ExecutorContext) -> None:
        """Start reading telemetry."""
        self._runner.open(context.settings, context.emit)

    def prepare(self) -> NodeTask:
        """Read the idle machine and query torch."""
        return self._runner.prepare()

    def measure_peaks(self, wanted: Mapping[str | None, Sequence[PeakKey]]) -> NodeTask:
        """Measure device peaks."""
        return self._runner.measure_peaks(wanted.get(None, ()))

    def start(self, job: Job, node: str | None) -> Execution:
        """Start a case; raise BenchtuiError if that fails."""
        return self._runner.start(job)

    def close(self) -> None:
        """Stop telemetry and processes, and remove the scratch folder."""
        self._runner.close()

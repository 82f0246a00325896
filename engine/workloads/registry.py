"""Workload registry: the class for each task."""

from collections.abc import Callable

from benchtui.engine.devices.base import Device
from benchtui.engine.workloads.base import Workload
from benchtui.engine.workloads.classify import Classify, Image
from benchtui.engine.workloads.embed import Embed
from benchtui.engine.workloads.generate import Generate
from benchtui.engine.workloads.lm_forward import LmForward
from benchtui.engine.workloads.lm_train import LmTrain
from benchtui.engine.workloads.own.task import CustomTask
from benchtui.engine.workloads.serve_batch import ServeBatch
from benchtui.engine.workloads.speech import Speech
from benchtui.sessions.sweep import Config, Sweep

_TASKS: dict[str, Callable[[Sweep, Config, Device], Workload]] = {
    "classify": Classify,
    "lm-forward": LmForward,
    "lm-train": LmTrain,
    "generate": Generate,
    "serve-batch": ServeBatch,
    "embed": Embed,
    "image": Image,
    "speech": Speech,
}


def make_workload(sweep: Sweep, config: Config, device: Device) -> Workload:
    """Prepare a sweep's task for one case. Raises BenchtuiError if something is unavailable."""
    return _TASKS.get(sweep.task, CustomTask)(sweep, config, device)

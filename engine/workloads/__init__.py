"""Workloads: what one step of a task is."""

from benchtui.engine.devices import Device
from benchtui.engine.workloads.base import Workload
from benchtui.engine.workloads.classify import Classify
from benchtui.sessions.sweep import Config, Sweep

_TASKS: dict[str, type[Classify]] = {"classify": Classify}


def make_workload(sweep: Sweep, config: Config, device: Device) -> Workload:
    """Make a sweep's task ready for one case; raises BenchtuiError where something can't be had."""
    return _TASKS[sweep.task](sweep, config, device)

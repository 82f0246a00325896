"""Profile of a step in a backend, by the backend's own counters: plain steps and counted ones in turns."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from msgspec.structs import replace

from benchtui.engine.devices.base import Device, StepTime, no_lap
from benchtui.engine.models.backends.base import Kernel
from benchtui.engine.models.backends.opening import Opened
from benchtui.engine.worker.explain.breakdown import MOST_KERNELS, TOKENIZER_PART, Breakdown
from benchtui.engine.worker.explain.families import family_of_operation
from benchtui.engine.worker.explain.host_use import HostWatch
from benchtui.engine.worker.explain.profiling import (
    MOST_PLAIN,
    PLAIN_S,
    ROUNDS,
    STEPS_S,
    sampled_places,
    step_profile,
)
from benchtui.engine.workloads.base import Workload
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.profiles import FamilyName, FamilyTime, KernelTime, StepProfile

_Key = tuple[str, str | None]
"""Type of an operation, and shapes of its inputs."""


def profile_backend(workload: Workload, opened: Opened, device: Device, folder: Path) -> StepProfile:
    """Profile the step of a warmed-up case. ``folder`` is for files of the backend.

    Raises:
        CaseSkippedError: if the backend has no profile.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counted = opened.load(folder)
    if counted.kernels is None:
        raise CaseSkippedError(f"{opened.backend} runs a step in one opaque call, and has no profile of it")
    workload.begin_measuring()
    step_s = max(1e-6, device.time(workload.step)[0].wall_ms / 1000)
    steps = max(1, min(MOST_PLAIN, int(PLAIN_S / step_s)))
    watch, plain, profiled = HostWatch(), list[StepTime](), list[StepTime]()
    opened.run = counted.run
    workload.step(no_lap)
    for _ in range(max(1, min(ROUNDS, int(STEPS_S / step_s)))):
        opened.run = opened.loaded.run
        with watch.stretch(steps):
            plain += [device.time(workload.step)[0] for _ in range(steps)]
        opened.run = counted.run
        profiled += [device.time(workload.step)[0] for _ in range(steps)]
    opened.run = opened.loaded.run
    profile = step_profile(break_down(profiled, counted.kernels()), plain, watch, len(profiled))
    name, _, version = opened.loaded.runtime["version"].partition(" ")
    return replace(
        profile,
        places=sampled_places(workload, profile.plain_ms / 1000),
        versions=profile.versions | {name: version},
        absent={"memory": f"torch doesn't see the memory of {opened.backend}"},
    )


def break_down(steps: Sequence[StepTime], kernels: Sequence[Kernel]) -> Breakdown:
    """Return the time of the steps by family. Time outside of operations is the tokenizer's or Python's."""
    step_ms, count = fmean(step.wall_ms for step in steps), len(steps)
    spent, by_kernel = defaultdict[FamilyName, float](float), defaultdict[_Key, list[float]](list)
    calls = Counter[FamilyName](family_of_operation(kernel.kind) for kernel in kernels)
    for kernel in kernels:
        spent[family_of_operation(kernel.kind)] += kernel.ms / count
        by_kernel[kernel.kind, kernel.shape].append(kernel.ms)
    spent["tokenizer"] += fmean(step.parts_ms.get(TOKENIZER_PART, 0.0) for step in steps)
    spent["python"] += max(0.0, step_ms - sum(spent.values()))
    families = (
        FamilyTime(family=family, ms=round(ms, 6), launches=round(calls[family] / count, 3))
        for family, ms in spent.items()
        if ms > 0
    )
    longest = sorted(by_kernel.items(), key=lambda times: sum(times[1]), reverse=True)
    return Breakdown(
        step_ms=round(step_ms, 6),
        families=tuple(sorted(families, key=lambda family: family.ms, reverse=True)),
        kernels=tuple(
            KernelTime(
                name=kind,
                family=family_of_operation(kind),
                count=round(len(times) / count, 3),
                ms=round(sum(times) / count, 6),
                shape=shape,
            )
            for (kind, shape), times in longest[:MOST_KERNELS]
        ),
        launches=round(len(kernels) / count, 3),
    )

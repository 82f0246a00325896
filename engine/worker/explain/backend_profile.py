"""Profile of a step in a backend, by the backend's own counters: plain steps and counted ones in turns."""

from collections import Counter
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
    step_ms = fmean(step.wall_ms for step in steps)
    spent, counts = Counter[FamilyName](), Counter[FamilyName]()
    kernels_ms, runs = Counter[tuple[str, str | None]](), Counter[tuple[str, str | None]]()
    for kernel in kernels:
        family, key = family_of_operation(kernel.kind), (kernel.kind, kernel.shape)
        spent[family] += kernel.ms / len(steps)
        counts[family] += 1
        kernels_ms[key] += kernel.ms / len(steps)
        runs[key] += 1
    spent["tokenizer"] += fmean(step.parts_ms.get(TOKENIZER_PART, 0.0) for step in steps)
    spent["python"] += max(0.0, step_ms - spent.total())
    return Breakdown(
        step_ms=round(step_ms, 6),
        families=tuple(
            FamilyTime(family=family, ms=round(ms, 6), launches=round(counts[family] / len(steps), 3))
            for family, ms in spent.most_common()
            if ms > 0
        ),
        kernels=tuple(
            KernelTime(
                name=kind,
                family=family_of_operation(kind),
                count=round(runs[kind, shape] / len(steps), 3),
                ms=round(ms, 6),
                shape=shape,
            )
            for (kind, shape), ms in kernels_ms.most_common(MOST_KERNELS)
        ),
        launches=round(len(kernels) / len(steps), 3),
    )

"""Made profiles of a slow and a fast case, as the worker would record them."""

from benchtui.sessions.events import Explained
from benchtui.sessions.profiles import FamilyName, FamilyTime, GraphBreak, KernelTime, MemoryKinds, StepProfile

SLOW: dict[FamilyName, float] = {
    "matmul": 11.2,
    "wait": 8.0,
    "copy": 4.1,
    "elementwise": 3.0,
    "python": 1.9,
    "gather": 0.3,
}
FAST: dict[FamilyName, float] = {"matmul": 11.0, "copy": 0.4, "elementwise": 2.8, "python": 1.8, "gather": 0.3}
SHAPES = "512x768 float, 768x3072 float"


def kernels(families: dict[FamilyName, float]) -> tuple[KernelTime, ...]:
    matmul, copy = families["matmul"], families["copy"]
    return (
        KernelTime(
            name="aten::addmm", family="matmul", ms=matmul * 0.9, count=36.0, shape=SHAPES, flops=2.9e11
        ),
        KernelTime(name="aten::copy_", family="copy", ms=copy, count=48.0, shape="512x768 float", bytes=1.5e8),
        KernelTime(name="aten::native_layer_norm", family="elementwise", ms=1.9, count=13.0, bytes=4.0e7),
        KernelTime(name="aten::bmm", family="matmul", ms=matmul * 0.1, count=12.0, shape="48x128x64 float"),
    )


def profile(families: dict[FamilyName, float]) -> StepProfile:
    step_ms = sum(families.values())
    times = sorted(families.items(), key=lambda each: -each[1])
    return StepProfile(
        steps=3,
        step_ms=step_ms,
        plain_steps=6,
        plain_ms=step_ms * 0.95,
        families=tuple(FamilyTime(family=name, ms=ms, launches=20.0 * ms) for name, ms in times),
        kernels=kernels(families),
        launches=180.0,
        threads=2,
        processors=2,
        memory=MemoryKinds(weights_mb=267.8, activations_mb=41.5, gradients_mb=0.0, optimizer_mb=0.0),
        graph_breaks=(GraphBreak(reason="Data-dependent branching.", where="model.py:12", count=1),),
    )


def explained(case: int, *, fast: bool = False, absent: str | None = None) -> Explained:
    """Return the profile of a case, or why there is none."""
    found = None if absent else profile(FAST if fast else SLOW)
    return Explained(t=98.0, case=case, created="2026-11-23T10:00:00Z", profile=found, absent=absent)

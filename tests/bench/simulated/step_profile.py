"""Simulated profiles of cases, as the worker would record them: from the same model as their steps."""

from collections.abc import Iterator
from itertools import chain

from simulated.llama import (
    HIDDEN,
    INTERMEDIATE,
    KERNELS_PER_LAYER,
    KEYS_AND_VALUES,
    LAYERS,
    MULTIPLIED,
    OTHER_KERNELS,
    VOCABULARY,
    Step,
)

from benchtui.sessions.profiles import FamilyName, FamilyTime, KernelTime, MemoryKinds, StepProfile
from benchtui.sessions.sweep import Config

STEPS = 3
PROFILED = 1.06
"""Time to launch a kernel under the profiler, over that without it."""
TOKENIZE_MS, TRANSFER_MS = 0.26, 0.05
ELEMENTWISE = {"norm": 0.22, "rotary": 0.18, "activation": 0.34, "residual": 0.26}
"""Shares of the elementwise kernels in their time."""
_PRODUCTS = (
    ("aten::mm", LAYERS, HIDDEN, HIDDEN + KEYS_AND_VALUES),
    ("aten::mm", LAYERS, HIDDEN, HIDDEN),
    ("aten::mm", 2 * LAYERS, HIDDEN, INTERMEDIATE),
    ("aten::mm", LAYERS, INTERMEDIATE, HIDDEN),
    ("aten::mm", 1, HIDDEN, VOCABULARY),
)
"""Products of a step: operator, count, and shape of the weights."""


def profile(config: Config, step: Step) -> StepProfile:
    """Return the profile of a forward pass; its families sum to the step."""
    kernels = sorted(_kernels(config, step), key=lambda each: -each.ms)
    counts, busy_ms = dict[FamilyName, float](), dict[FamilyName, float]()
    for each in kernels:
        counts[each.family] = counts.get(each.family, 0.0) + each.count
        busy_ms[each.family] = busy_ms.get(each.family, 0.0) + each.ms
    gaps_ms = max(0.0, PROFILED * step.launch_ms - step.kernels_ms) + 0.02
    idle_ms = {"tokenizer": TOKENIZE_MS, "python": gaps_ms}
    families = [FamilyTime(family=each, ms=_rounded(ms), launches=counts[each]) for each, ms in busy_ms.items()]
    families += [FamilyTime(family=each, ms=_rounded(ms)) for each, ms in idle_ms.items()]  # type: ignore[arg-type]
    plain_ms = max(step.kernels_ms, step.launch_ms) + TOKENIZE_MS + TRANSFER_MS
    return StepProfile(
        steps=STEPS,
        step_ms=_rounded(sum(each.ms for each in families)),
        plain_steps=2 * STEPS,
        plain_ms=_rounded(plain_ms),
        families=tuple(sorted(families, key=lambda each: -each.ms)),
        kernels=tuple(kernels),
        parts_ms={"tokenize": TOKENIZE_MS, "transfer": TRANSFER_MS},
        launches=sum(counts.values()),
        busy_ms=_rounded(sum(busy_ms.values())),
        idle_ms={name: _rounded(ms) for name, ms in idle_ms.items()},
        launching_ms=_rounded(0.45 * step.launch_ms),
        busy_cpus=1.0,
        memory=MemoryKinds(
            weights_mb=_rounded(step.weights / 1e6),
            gradients_mb=0.0,
            optimizer_mb=0.0,
            activations_mb=_rounded(step.allocated_mb - step.weights / 1e6),
            workspace_mb=_rounded(0.04 * step.allocated_mb),
            growth_mb=0.0,
        ),
        absent={"timeline": "simulated"},
    )


def _kernels(config: Config, step: Step) -> Iterator[KernelTime]:
    tokens, size = config.batch_size * config.sequence_length, 4 if config.precision == "fp32" else 2
    dtype = "float" if size == 4 else "BFloat16"
    yield from chain(_products(step, tokens, dtype), _fused(config, step, tokens, dtype))
    yield KernelTime(
        name="flash::flash_fwd_kernel" if size == 2 else "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
        family="attention",
        count=LAYERS,
        ms=_rounded(step.attention_ms),
        operator="aten::_scaled_dot_product_flash_attention",
        shape=f"{config.batch_size}x32x{config.sequence_length}x64 {dtype}",
        flops=4.0 * tokens * config.sequence_length * HIDDEN * LAYERS / 2,
    )
    yield KernelTime(
        name="at::native::indexSelectLargeIndex",
        family="gather",
        count=1,
        ms=_rounded(0.01),
        operator="aten::embedding",
    )
    yield KernelTime(name="Memcpy HtoD (Pageable -> Device)", family="copy", count=2, ms=TRANSFER_MS)


def _products(step: Step, tokens: int, dtype: str) -> Iterator[KernelTime]:
    """Yield the matrix products, whose time is divided by their weights."""
    for operator, count, rows, columns in _PRODUCTS:
        weights = count * rows * columns
        yield KernelTime(
            name=f"nvjet_{'hsh' if dtype == 'BFloat16' else 'sss'}_{rows}x{columns}_TNT",
            family="matmul",
            count=count,
            ms=_rounded(step.products_ms * weights / MULTIPLIED),
            operator=operator,
            shape=f"{tokens}x{rows} {dtype}, {rows}x{columns} {dtype}",
            flops=2.0 * tokens * weights,
        )


def _fused(config: Config, step: Step, tokens: int, dtype: str) -> Iterator[KernelTime]:
    """Yield the elementwise kernels: fused ones of compiled code, or those of each operator."""
    products = sum(count for _, count, *_ in _PRODUCTS)
    launches = LAYERS * KERNELS_PER_LAYER[config.compile] + OTHER_KERNELS - products - LAYERS - 3
    for name, share in ELEMENTWISE.items():
        fused = (
            f"triton_red_fused_{name}" if config.compile != "off" else f"at::native::elementwise_kernel<{name}>"
        )
        yield KernelTime(
            name=fused,
            family="elementwise",
            count=round(share * launches),
            ms=_rounded(step.elementwise_ms * share),
            shape=f"{tokens}x{HIDDEN} {dtype}",
        )


def _rounded(value: float) -> float:
    return round(value, 6)

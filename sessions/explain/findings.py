"""Findings: sentences about the time and memory of a step, from one table of rules.

A rule takes one explained case and returns a finding, or None if it finds nothing or lacks data. To add a rule,
write a function, list it in ``RULES``, and test it on a case with the cause.
"""

from collections.abc import Callable
from functools import wraps
from typing import Literal

import msgspec

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.profiles import FamilyName, KernelTime
from benchtui.sessions.text.formatting import count, memory, number, percent

Confidence = Literal["high", "medium", "low"]

SHARE = 0.1
"""Smallest share of a step that is worth a sentence."""
SMALL_KERNEL_US = 50.0
"""Maximum time of an operator whose call may take longer than its work."""
MANY_CALLS = 50
"""Minimum number of calls of an operator with the same shape that suggests a loop."""
SMALL_FLOPS = 2e6
"""Maximum number of operations of a small matrix product."""
LEAST_GROWTH_MB = 0.05
LEAST_MEMORY_MB = 100.0
"""Minimum memory of a kind that is worth reducing."""
MEMORY_SHARE = 0.35
"""Smallest share of a step's memory that is worth a sentence."""
NEAR_PEAK = 0.7
ARITHMETIC: tuple[FamilyName, ...] = ("matmul", "attention", "elementwise", "gather", "copy", "optimizer")
"""Families whose operators run on several threads."""


class Finding(msgspec.Struct, frozen=True):
    """A computed statement about a case."""

    rule: str
    """Name of its rule."""
    sentence: str
    confidence: Confidence
    """``high`` if measured directly, ``medium`` if another cause is possible, ``low`` for a hint."""
    ms: float | None = None
    """Time per step that the finding concerns; None if it isn't about time."""


Rule = Callable[[ExplainedCase], Finding | None]
FamilySentence = Callable[[ExplainedCase, str], str | None]
"""Returns a sentence about a family, given its time as ``40% of the step (8.00 ms)``; None for no finding."""


def findings(case: ExplainedCase) -> tuple[Finding, ...]:
    """Return the findings of all rules, those about the most time first, those not about time last."""
    unsorted = [finding for rule in RULES if (finding := rule(case))]
    return tuple(sorted(unsorted, key=lambda item: -1.0 if item.ms is None else item.ms, reverse=True))


def _of_family(
    name: str, family: FamilyName, least: float, confidence: Confidence = "high"
) -> Callable[[FamilySentence], Rule]:
    """Turn a function that returns a sentence into a rule about a family with at least this share of a step."""

    def make(sentence: FamilySentence) -> Rule:
        @wraps(sentence)
        def rule(case: ExplainedCase) -> Finding | None:
            if case.share(family) < least:
                return None
            ms = case.ms(family)
            text = sentence(case, _of_step(case, ms))
            return Finding(name, text, confidence, ms) if text else None

        return rule

    return make


def sleeping(case: ExplainedCase) -> Finding | None:
    """Find a main thread that sleeps while no operator runs."""
    share, ms = case.share("wait"), case.ms("wait")
    if share < SHARE:
        return None
    sentence = (
        f"For {_of_step(case, ms)}, the main thread sleeps while no operator runs: it waits for something"
        " outside torch, such as time.sleep, a lock, a file or the network."
    )
    return Finding("sleeping", sentence, "high" if share >= 2 * SHARE else "medium", ms)


def idle_gpu(case: ExplainedCase) -> Finding | None:
    """Find a GPU that waits for its host, with a bound on what CUDA graphs could save."""
    profile = case.profile
    if profile.busy_ms is None or not profile.step_ms:
        return None
    idle_ms, gaps_ms = sum(profile.idle_ms.values()), profile.idle_ms.get("python", 0.0)
    if idle_ms < SHARE * profile.step_ms:
        return None
    each_us = 1000 * profile.busy_ms / profile.launches if profile.launches else 0.0
    graphs = case.case.config.uses_cuda_graphs
    bound = (
        f"; CUDA graphs (compile=reduce-overhead) or larger batches can hide at most {_ms(gaps_ms)} of"
        f" {_ms(profile.step_ms)}"
    )
    sentence = (
        f"For {_of_step(case, idle_ms)}, the GPU waits for the host:"
        f" {profile.launches:,.0f} launches of {number(each_us)} µs on average{'' if graphs else bound}."
    )
    return Finding("idle GPU", sentence, "high", idle_ms)


def python_loop(case: ExplainedCase) -> Finding | None:
    """Find many calls of one small operator, which one call on larger inputs could replace."""
    small = [kernel for kernel in case.profile.kernels if _is_small(kernel)]
    if not small:
        return None
    worst = max(small, key=lambda kernel: kernel.count)
    each_us = 1000 * worst.ms / worst.count
    ms = worst.ms + min(1.0, worst.count / max(case.profile.launches, 1.0)) * case.ms("python")
    if ms < SHARE * case.profile.step_ms:
        return None
    shape = f" on {worst.shape}" if worst.shape else ""
    sentence = (
        f"{worst.name} runs {worst.count:,.0f} times per step{shape}, {number(each_us)} µs each: calling it"
        f" takes about as long as its work. Including its share of the gaps between operators, that is"
        f" {_ms(ms)}; a single batched call could replace them."
    )
    return Finding("Python loop", sentence, "medium", ms)


@_of_family("Python gaps", "python", 2 * SHARE, "medium")
def python_gaps(case: ExplainedCase, taken: str) -> str | None:
    """Find a CPU step in which Python takes much time between operators."""
    if case.profile.busy_ms is not None or python_loop(case):
        return None
    return (
        f"Python and the gaps between operators take {taken}, with"
        f" {count(round(case.profile.launches), 'operator')} called from Python. The profiler lengthens these"
        " gaps."
    )


@_of_family("tokenizer", "tokenizer", 2 * SHARE)
def tokenizing(case: ExplainedCase, taken: str) -> str:
    """Find a step that spends its time on tokenizing."""
    return (
        f"Tokenizing takes {taken}, while the device is idle: tokenize the data set ahead of time, or in"
        " parallel (tokenizer_threads)."
    )


@_of_family("copies", "copy", SHARE)
def copying(case: ExplainedCase, taken: str) -> str:
    """Find copies and casts that take much of a step."""
    longest = _longest(case, "copy")
    named = ""
    if longest:
        shape = f" of {longest.shape.partition(',')[0]}" if longest.shape else ""
        named = f"; most of it is {longest.name}{shape}, {longest.count:,.0f} times per step, {_ms(longest.ms)}"
    return f"Copies and casts take {taken}{named}. They compute nothing."


def few_threads(case: ExplainedCase) -> Finding | None:
    """Find a CPU case that uses fewer threads than there are processors."""
    profile = case.profile
    threads, processors = profile.threads, profile.processors
    if profile.busy_ms is not None or not threads or not processors or threads >= processors:
        return None
    ms = case.ms(*ARITHMETIC)
    if ms < 0.5 * profile.step_ms:
        return None
    saved_ms = ms * (1 - threads / processors)
    sentence = (
        f"Operators run on {count(threads, 'thread')} of {processors} processors and take"
        f" {_percent(ms / profile.step_ms)} of the step: threads={processors} can save at most {_ms(saved_ms)}"
        f" of {_ms(profile.step_ms)}."
    )
    return Finding("few threads", sentence, "medium", saved_ms)


def double_precision(case: ExplainedCase) -> Finding | None:
    """Find operators that compute in float64, which no precision option requests."""
    doubles = [kernel for kernel in case.profile.kernels if kernel.shape and " double" in kernel.shape]
    ms = sum(kernel.ms for kernel in doubles)
    if not doubles or ms < 0.05 * case.profile.step_ms:
        return None
    worst = doubles[0]
    sentence = (
        f"{_of_step(case, ms)} computes in float64, most of it {worst.name} on {worst.shape}: a NumPy array or"
        " a Python float may have promoted the rest. float32 moves half the bytes."
    )
    return Finding("float64", sentence, "high", ms)


def graph_breaks(case: ExplainedCase) -> Finding | None:
    """Find places where the compiler fell back to Python."""
    breaks = case.profile.graph_breaks
    if not breaks:
        return None
    first = breaks[0]
    at = f" at {first.where}" if first.where else ""
    more = f", and at {count(len(breaks) - 1, 'other place')}" if len(breaks) > 1 else ""
    sentence = f"The compiler breaks the graph{at}{more}: {first.reason.rstrip('.')}."
    return Finding("graph breaks", sentence, "high")


def recompiles(case: ExplainedCase) -> Finding | None:
    """Find recompiled functions, with the guard that failed."""
    recorded = case.profile.recompiles
    if not recorded:
        return None
    times, first = sum(recompile.count for recompile in recorded), recorded[0]
    sizes = any("size mismatch" in recompile.guard for recompile in recorded)
    advice = "; padding=max or torch.compile(dynamic=True) avoids recompiling for each length" if sizes else ""
    where = f"{first.where} was" if first.where else "Functions were"
    sentence = (
        f"{where} recompiled ({count(times, 'recompile')} in total). Failed guard: {first.guard}{advice}."
    )
    return Finding("recompiles", sentence, "high")


def growing(case: ExplainedCase) -> Finding | None:
    """Find a step that doesn't free all of the memory that it allocates."""
    growth_mb = case.profile.memory.growth_mb
    if growth_mb is None or growth_mb < LEAST_GROWTH_MB:
        return None
    sentence = (
        f"Each step allocates {memory(growth_mb)} that it never frees: something keeps an activation or a"
        " graph, such as a list of losses without detach()."
    )
    return Finding("kept activation", sentence, "high")


def activations(case: ExplainedCase) -> Finding | None:
    """Find activations that take most of the memory of a training step."""
    kinds = case.profile.memory
    if not kinds.gradients_mb:
        return None
    checkpointing = case.case.config.activation_checkpointing == "on"
    advice = f"{'' if checkpointing else 'activation_checkpointing=on or '}a smaller batch reduces them"
    return _of_memory(case, "activations", "Activations are", kinds.activations_mb, advice)


def optimizer_state(case: ExplainedCase) -> Finding | None:
    """Find optimizer state that takes much of the memory of a training step."""
    advice = "adamw-8bit needs about a quarter of it, sgd none"
    state_mb = case.profile.memory.optimizer_mb
    return _of_memory(case, "optimizer state", "The state of the optimizer is", state_mb, advice)


def weights(case: ExplainedCase) -> Finding | None:
    """Find weights in float32 that take most of the memory of inference."""
    kinds, prepared = case.profile.memory, case.case.prepared
    effective = prepared.effective if prepared else None
    if kinds.gradients_mb or effective is None or effective.weights_dtype != "float32":
        return None
    advice = "bfloat16 halves them, quantization stores them in 8 or 4 bits"
    return _of_memory(case, "weights", "Weights in float32 are", kinds.weights_mb, advice)


def kv_cache(case: ExplainedCase) -> Finding | None:
    """Find a KV cache that takes much of the memory of generation."""
    advice = "it grows with the batch and with the tokens of prompt and answer"
    return _of_memory(case, "KV cache", "The KV cache is", case.profile.memory.cache_mb, advice)


@_of_family("unfused", "elementwise", 3 * SHARE, "low")
def unfused(case: ExplainedCase, taken: str) -> str | None:
    """Find elementwise operators of uncompiled code, which a compiler could fuse."""
    if case.case.config.compile not in ("off", ""):
        return None
    return (
        f"Normalization and elementwise operators take {taken} without being fused: compile=default could"
        " save up to that much."
    )


@_of_family("optimizer", "optimizer", 2 * SHARE, "medium")
def optimizing(case: ExplainedCase, taken: str) -> str:
    """Find an optimizer that takes much of a step."""
    launches = sum(family.launches for family in case.profile.families if family.family == "optimizer")
    return (
        f"The optimizer takes {taken} in {launches:,.0f} operators: it reads and writes all weights and its"
        " state once per step, regardless of the batch size. A fused one (adamw-fused) calls fewer operators;"
        " accumulation runs it less often."
    )


def near_peak(case: ExplainedCase) -> Finding | None:
    """Find matrix products near the device's peak, which only less work or a lower precision makes faster."""
    share = case.share("matmul")
    flops = sum(
        kernel.flops or 0.0 for kernel in case.profile.kernels if kernel.family == "matmul" and kernel.flops
    )
    ms = sum(kernel.ms for kernel in case.profile.kernels if kernel.family == "matmul" and kernel.flops)
    peak = case.peaks.flops_per_s if case.peaks else None
    if share < 0.5 or not peak or not ms or flops / ms * 1000 < NEAR_PEAK * peak:
        return None
    of_peak = flops / ms * 1000 / peak
    sentence = (
        f"Matrix products take {_percent(share)} of the step and run at"
        f" {f'{_percent(of_peak)} of ' if of_peak < 1 else ''}the measured peak: only less work or a lower"
        " precision makes them faster."
    )
    return Finding("near the peak", sentence, "high", case.ms("matmul"))


RULES: tuple[Rule, ...] = (
    sleeping,
    idle_gpu,
    python_loop,
    python_gaps,
    tokenizing,
    copying,
    few_threads,
    double_precision,
    graph_breaks,
    recompiles,
    growing,
    activations,
    optimizer_state,
    weights,
    kv_cache,
    unfused,
    optimizing,
    near_peak,
)


def _is_small(kernel: KernelTime) -> bool:
    if kernel.count < MANY_CALLS or 1000 * kernel.ms / kernel.count > SMALL_KERNEL_US:
        return False
    return kernel.flops is not None and kernel.flops / kernel.count <= SMALL_FLOPS


def _longest(case: ExplainedCase, family: FamilyName) -> KernelTime | None:
    return next((kernel for kernel in case.profile.kernels if kernel.family == family), None)


def _of_memory(
    case: ExplainedCase, name: str, subject: str, size_mb: float | None, advice: str
) -> Finding | None:
    """Return a finding about a kind of memory that is a large part of a step's memory."""
    kinds = case.profile.memory
    parts = (kinds.weights_mb, kinds.gradients_mb, kinds.optimizer_mb, kinds.activations_mb, kinds.cache_mb)
    total_mb = sum(part or 0.0 for part in parts)
    if not size_mb or size_mb < max(LEAST_MEMORY_MB, MEMORY_SHARE * total_mb):
        return None
    sentence = (
        f"{subject} {_percent(size_mb / total_mb)} of the memory of the step ({memory(size_mb)} of"
        f" {memory(total_mb)}): {advice}."
    )
    return Finding(name, sentence, "high")


def _of_step(case: ExplainedCase, ms: float) -> str:
    return f"{_percent(ms / case.profile.step_ms)} of the step ({_ms(ms)})"


def _percent(share: float) -> str:
    return f"{percent(share, 0)}%"


def _ms(value: float | None) -> str:
    return f"{number(value)} ms"

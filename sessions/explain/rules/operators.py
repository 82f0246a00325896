"""Rules about operators: their families, their inputs, the compiler, and the limits of the device."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from math import inf

from benchtui.sessions.analysis.roofline import UNFUSED
from benchtui.sessions.explain.cases import SHARE, ExplainedCase
from benchtui.sessions.explain.finding import Finding, ms_text, of_program, of_step, percent_text, timed
from benchtui.sessions.explain.rules.host import at_place, few_threads, kernel_ms, page_faults, preempted
from benchtui.sessions.profiles import KernelTime
from benchtui.sessions.text.formatting import count, listed, number

NEAR_PEAK = 0.7
FAR_FROM_PEAK = 0.2
"""Share of a measured peak below which a large operator is slow for a reason that is worth finding."""
FAST = 0.5
"""Share of a measured peak from which the values of its inputs don't slow an operator."""
LARGE_BYTES, LARGE_FLOPS = 4e6, 5e7
"""Minimum size of one call whose rate is comparable with a peak."""
FUSED_MOVES = 7
"""Reads and writes of one fused AdamW step: weights and both moments are read and written, gradients read."""
FILLS = ("aten::fill_", "aten::zero_")
"""Operators of the family of copies that only write."""


def idle_gpu(case: ExplainedCase) -> Finding | None:
    """Find a GPU that waits for its host, with a bound on what CUDA graphs could save."""
    profile = case.profile
    if profile.busy_ms is None or not profile.step_ms:
        return None
    whole_ms = min(profile.step_ms, profile.plain_ms, case.measured_ms or inf)
    # the profiler lengthens the gaps between kernels, not the kernels
    kept = max(0.0, whole_ms - profile.busy_ms) / max(profile.step_ms - profile.busy_ms, 1e-9)
    idle_ms, gaps_ms = (kept * ms for ms in (sum(profile.idle_ms.values()), profile.idle_ms.get("python", 0.0)))
    share = idle_ms / whole_ms
    if not case.takes(share * profile.step_ms, SHARE):
        return None
    each_us = 1000 * profile.busy_ms / profile.launches if profile.launches else 0.0
    graphs = case.case.config.uses_cuda_graphs
    bound = (
        f"; CUDA graphs (compile=reduce-overhead) or larger batches can hide at most {ms_text(gaps_ms)} of"
        f" {ms_text(whole_ms)}"
    )
    sentence = (
        f"For {percent_text(share)} of the step ({ms_text(idle_ms)}), the GPU waits for the host:"
        f" {profile.launches:,.0f} launches of {number(each_us)} µs on average{'' if graphs else bound}."
    )
    idle_ms, gaps_ms = (ms / whole_ms * profile.step_ms for ms in (idle_ms, gaps_ms))
    remedy = None if graphs else {"compile": "reduce-overhead"}
    return timed(case, "idle GPU", sentence, "high", idle_ms, saves_ms=gaps_ms, remedy=remedy)


def tokenizing(case: ExplainedCase) -> Finding | None:
    """Find a step that spends its time on tokenizing."""
    ms = case.ms("tokenizer")
    if not case.takes(ms, 2 * SHARE):
        return None
    sentence = (
        f"Tokenizing takes {of_step(case, ms)}, while the device is idle: tokenize the data set ahead of time,"
        " or in parallel (tokenizer_threads)."
    )
    processors = case.profile.processors or 0
    threads = case.case.config.tokenizer_threads
    if not 0 < threads < processors:
        return timed(case, "tokenizer", sentence, "high", ms)
    saved_ms, more = ms * (1 - threads / processors), {"tokenizer_threads": processors}
    return timed(case, "tokenizer", sentence, "high", ms, saves_ms=saved_ms, expected_ms=saved_ms, remedy=more)


def copying(case: ExplainedCase) -> Finding | None:
    """Find copies and casts that take much of a step, without the page faults of their outputs."""
    fills_ms = sum(kernel.ms for kernel in case.profile.kernels if kernel.called in FILLS)
    faults_ms = kernel_ms(case) if page_faults(case) else 0.0
    ms = case.ms("copy") - max(fills_ms, faults_ms)
    if not case.takes(ms, SHARE):
        return None
    longest = next(
        (kernel for kernel in case.profile.kernels if kernel.family == "copy" and kernel.called not in FILLS),
        None,
    )
    sentence = f"Copies and casts take {of_step(case, ms)}{_named(longest)}. They compute nothing."
    return timed(case, "copies", sentence, "high", ms)


def _named(kernel: KernelTime | None) -> str:
    if kernel is None:
        return ""
    shape = f" of {kernel.shape.partition(',')[0]}" if kernel.shape else ""
    return f"; most of it is {kernel.title}{shape}, {kernel.count:,.0f} times per step, {ms_text(kernel.ms)}"


def gathering(case: ExplainedCase) -> Finding | None:
    """Find indexing, gathering and scattering that take much of a step."""
    ms = case.ms("gather")
    if not case.takes(ms, 3 * SHARE):
        return None
    longest = next((kernel for kernel in case.profile.kernels if kernel.family == "gather"), None)
    sentence = (
        f"Embedding, indexing and gathering take {of_step(case, ms)}{_named(longest)}. They read memory in the"
        " order of their indices, at a fraction of its rate: index once, sort the indices, or use slices."
    )
    return timed(case, "gather", sentence, "high", ms)


def recomputing(case: ExplainedCase) -> Finding | None:
    """Find a forward pass that the backward pass computes again, because its activations weren't kept."""
    ms = case.profile.recomputed_ms
    if not case.takes(ms, SHARE):
        return None
    sentence = (
        "The backward pass computes the forward pass again (activation checkpointing), for"
        f" {of_step(case, ms)}: without that, activations take more memory. If there is enough, turn it off, or"
        " recompute fewer layers."
    )
    off = {"activation_checkpointing": "off"} if case.applied("activation_checkpointing") == "on" else None
    return timed(case, "recomputing", sentence, "high", ms, expected_ms=ms, remedy=off)


def one_operator(case: ExplainedCase) -> Finding | None:
    """Find one operator of no known family, or between processes, that takes much of a step."""
    times = defaultdict[str, float](float)
    for kernel in case.profile.kernels:
        if kernel.family in ("other", "collective"):
            times[kernel.called] += kernel.ms
    if not times:
        return None
    name, ms = max(times.items(), key=lambda item: item[1])
    if not case.takes(ms, 2 * SHARE):
        return None
    longest = next(kernel for kernel in case.profile.kernels if kernel.called == name)
    shape = f" on {longest.shape}" if longest.shape else ""
    ran = [place for place in case.profile.places if place.activity in ("operator", "native")]
    lines = [place for place in ran if place.share >= SHARE]
    advice = "call it less often or on less, or compute its result ahead of the step"
    if longest.family == "collective":
        advice = "in it, each process waits for the slowest one"
    sentence = (
        f"{name}{shape} alone takes {of_step(case, ms)}, {longest.count:,.0f} times per step{at_place(lines)}:"
        f" {advice}."
    )
    return timed(case, "one operator", sentence, "medium", ms)


def double_precision(case: ExplainedCase) -> Finding | None:
    """Find operators that compute in float64, which no precision option requests."""
    doubles = [kernel for kernel in case.profile.kernels if kernel.shape and " double" in kernel.shape]
    ms = sum(kernel.ms for kernel in doubles)
    if not doubles or not case.takes(ms, 0.05):
        return None
    worst = doubles[0]
    sentence = (
        f"{of_step(case, ms)} computes in float64, most of it {worst.title} on {worst.shape}: a NumPy array or"
        " a Python float may have promoted the rest. float32 moves half the bytes."
    )
    return timed(case, "float64", sentence, "high", ms)


def denormals(case: ExplainedCase) -> Finding | None:
    """Find operators that compute with denormal numbers, which some processors handle much more slowly."""
    worst = [
        kernel
        for kernel in case.profile.kernels
        if (kernel.denormal_share or 0.0) >= 0.01 and not _is_fast(case, kernel)
    ]
    ms = sum(kernel.ms for kernel in worst)
    if not case.takes(ms, SHARE):
        return None
    share = percent_text(max(kernel.denormal_share or 0.0 for kernel in worst))
    sentence = (
        f"{worst[0].title} computes with denormal numbers ({share} of an input) and takes {of_step(case, ms)}:"
        " torch.set_flush_denormal(True) makes them zeros; without it, each takes many times as long."
    )
    return timed(case, "denormals", sentence, "high", ms)


def strided(case: ExplainedCase) -> Finding | None:
    """Find operators that read inputs with gaps, or in another order than they lie in memory."""
    worst = [
        kernel
        for kernel in case.profile.kernels
        if kernel.strided
        and kernel.family in ("elementwise", "other", "attention")
        and not kernel.denormal_share
    ]
    ms = sum(kernel.ms for kernel in worst)
    if not case.takes(ms, 2 * SHARE):
        return None
    sentence = (
        f"{worst[0].title} on {worst[0].shape} reads inputs that aren't contiguous, in {of_step(case, ms)}:"
        " neighbors in the tensor aren't neighbors in memory, so most of each cache line is wasted. Store the"
        " tensor in the order in which it is read (contiguous() once, outside of the step)."
    )
    return timed(case, "strided", sentence, "medium", ms)


def graph_breaks(case: ExplainedCase) -> Finding | None:
    """Find places where the compiler fell back to Python, at most as costly as all time without an operator."""
    breaks = case.profile.graph_breaks
    if not breaks:
        return None
    first = breaks[0]
    at = f" at {first.where}" if first.where else ""
    more = f", and at {count(len(breaks) - 1, 'other place')}" if len(breaks) > 1 else ""
    sentence = f"The compiler breaks the graph{at}{more}: {first.reason.rstrip('.')}."
    return of_program(case, "graph breaks", sentence, case.ms("python"))


def recompiles(case: ExplainedCase) -> Finding | None:
    """Find recompiled functions, with the guard that failed."""
    recorded = case.profile.recompiles
    ms = case.ms("compile")
    if not recorded:
        return _compiling(case, ms)
    times, first = sum(recompile.count for recompile in recorded), recorded[0]
    sizes = any("size mismatch" in recompile.guard for recompile in recorded)
    advice = "; padding=max or torch.compile(dynamic=True) avoids recompiling for each length" if sizes else ""
    where = f"{first.where} was" if first.where else "Functions were"
    taken = f" Compiling takes {of_step(case, ms)}." if case.takes(ms, SHARE) and not case.differs else ""
    total = count(times, "recompile")
    sentence = f"{where} recompiled ({total} in total). Failed guard: {first.guard}{advice}.{taken}"
    remedy = {"padding": "max"} if sizes and case.case.config.padding != "max" else None
    return of_program(case, "recompiles", sentence, ms, remedy=remedy)


def _compiling(case: ExplainedCase, ms: float) -> Finding | None:
    """Find a step in which torch compiles, with no reason in its log."""
    if case.differs or not case.takes(ms, SHARE):
        return None
    sentence = f"torch's compiler runs in measured steps, for {of_step(case, ms)}: warm up longer."
    return timed(case, "recompiles", sentence, "high", ms)


def unfused(case: ExplainedCase) -> Finding | None:
    """Find elementwise operators of uncompiled code, which a compiler could fuse."""
    calls = sum(family.launches for family in case.profile.families if family.family == "elementwise")
    if case.case.config.compile not in ("off", "") or case.share("elementwise") < 3 * SHARE or calls < 2:
        return None
    explained_ms = sum(
        kernel.ms
        for kernel in case.profile.kernels
        if kernel.family == "elementwise" and (kernel.strided or (kernel.denormal_share or 0.0) >= 0.01)
    )
    whole_ms = case.ms("elementwise")
    ms = (whole_ms - explained_ms) * (1 - 1 / calls)
    if not case.takes(ms, 2 * SHARE):
        return None
    longest = next((kernel for kernel in case.profile.kernels if kernel.family == "elementwise"), None)
    most = _named(longest) if longest and longest.ms >= whole_ms / 2 else ""
    sentence = (
        f"Normalization and elementwise operators take {of_step(case, whole_ms)} without being fused{most}:"
        " compile=default could save up to that much."
    )
    return timed(case, "unfused", sentence, "low", ms, remedy={"compile": "default"})


def slow_attention(case: ExplainedCase) -> Finding | None:
    """Find attention that isn't fused: it writes all scores to memory and reads them again."""
    effective = case.case.effective
    if effective is None or effective.attention not in UNFUSED:
        return None
    scores = [
        kernel for kernel in case.profile.kernels if "softmax" in kernel.called or kernel.called.endswith("bmm")
    ]
    ms = max(case.ms("attention"), sum(kernel.ms for kernel in scores))
    if not case.takes(ms, SHARE):
        return None
    sentence = (
        f"Attention ({effective.attention}) takes {of_step(case, ms)}: it stores the scores of all pairs of"
        " tokens. A fused kernel (attention=sdpa) doesn't."
    )
    remedy, moved_ms = {"attention": "sdpa"}, _moving_scores_ms(case)
    return timed(case, "unfused attention", sentence, "medium", ms, expected_ms=moved_ms, remedy=remedy)


def _moving_scores_ms(case: ExplainedCase) -> float | None:
    """Return the time to move the scores through memory, which a fused kernel saves; it computes the same.

    Products write and read them once each, as softmax does; the rest are operators on tensors of their shape.
    """
    softmax = [kernel for kernel in case.profile.kernels if "softmax" in kernel.called and kernel.bytes]
    if not softmax or not case.peaks or not case.peaks.bytes_per_s:
        return None
    shapes = {(kernel.shape or "").partition(",")[0] for kernel in softmax}
    moved = sum(kernel.bytes or 0.0 for kernel in softmax)
    moved += sum(
        kernel.bytes or 0.0
        for kernel in case.profile.kernels
        if (kernel.shape or "").partition(",")[0] in shapes
    )
    return 1000 * moved / case.peaks.bytes_per_s


def optimizing(case: ExplainedCase) -> Finding | None:
    """Find an optimizer that takes much of a step."""
    ms = case.ms("optimizer")
    if not case.takes(ms, 2 * SHARE):
        return None
    launches = sum(family.launches for family in case.profile.families if family.family == "optimizer")
    sentence = (
        f"The optimizer takes {of_step(case, ms)} in {launches:,.0f} operators: it reads and writes all weights"
        " and its state once per step, regardless of the batch size. A fused one (adamw-fused) calls fewer"
        " operators; accumulation runs it less often."
    )
    unfused = case.applied("optimizer") in ("adamw", "adamw-foreach")
    remedy, rate = {"optimizer": "adamw-fused"} if unfused else None, case.peaks and case.peaks.bytes_per_s
    rest_ms = FUSED_MOVES * 1e9 * (case.profile.memory.gradients_mb or 0.0) / rate if rate else 0.0
    return timed(
        case, "optimizer", sentence, "medium", ms, expected_ms=ms - rest_ms if rest_ms else None, remedy=remedy
    )


def unaligned(case: ExplainedCase) -> Finding | None:
    """Find 16-bit matrix products of a GPU with a size that isn't a multiple of 8, such as 50,257 tokens.

    Tensor cores read rows of such sizes in smaller pieces (NVIDIA, Matrix Multiplication Background, "Tensor
    Core Requirements"). The other products of the step show which rate is possible.
    """
    if case.profile.busy_ms is None:
        return None
    products = [kernel for kernel in case.profile.kernels if kernel.family == "matmul" and _in_16_bits(kernel)]
    odd = [kernel for kernel in products if _odd_sizes(kernel)]
    usual = max((_flops_per_ms(kernel) for kernel in products if kernel not in odd), default=0.0)
    slow = [kernel for kernel in odd if kernel.flops and _flops_per_ms(kernel) < usual / 2]
    saved_ms = sum(kernel.ms - (kernel.flops or 0.0) / usual for kernel in slow)
    if not case.takes(saved_ms, SHARE):
        return None
    ms, rate, sizes = sum(kernel.ms for kernel in slow), _flops_per_ms(slow[0]), _odd_sizes(slow[0])
    odd_sizes, padded = (listed([f"{size:,}" for size in those]) for those in (sizes, map(_padded, sizes)))
    sentence = (
        f"{slow[0].title} on {slow[0].shape} takes {of_step(case, ms)} at {number(rate / 1e9)} TFLOP/s, where"
        f" other products reach {number(usual / 1e9)}: {odd_sizes} isn't a multiple of 8. Pad it to {padded};"
        " for a vocabulary, model.resize_token_embeddings(pad_to_multiple_of=64) does."
    )
    return timed(case, "unaligned product", sentence, "high", ms, saves_ms=saved_ms)


def _padded(size: int) -> int:
    return -(-size // 64) * 64


def _in_16_bits(kernel: KernelTime) -> bool:
    return kernel.shape is not None and ("BFloat16" in kernel.shape or "Half" in kernel.shape)


def _odd_sizes(kernel: KernelTime) -> tuple[int, ...]:
    """Return the sizes of a product's inputs that aren't multiples of 8, without single rows and batches."""
    matrices = re.findall(r"(?:\d+x)*(\d+)x(\d+) ", f"{kernel.shape} ")
    sizes = dict.fromkeys(int(size) for matrix in matrices for size in matrix)
    return tuple(size for size in sizes if size > 64 and size % 8)


def _flops_per_ms(kernel: KernelTime) -> float:
    return (kernel.flops or 0.0) / kernel.ms if kernel.ms else 0.0


def near_peak(case: ExplainedCase) -> Finding | None:
    """Find matrix products near the device's peak, which only less work or a lower precision makes faster."""
    products = [kernel for kernel in case.profile.kernels if kernel.family == "matmul" and kernel.flops]
    flops, ms = sum(kernel.flops or 0.0 for kernel in products), sum(kernel.ms for kernel in products)
    peak = case.peaks.flops_per_s if case.peaks else None
    if few_threads(case) or case.share("matmul") < 0.5:
        return None
    if not peak or not ms or flops / ms * 1000 < NEAR_PEAK * peak:
        return None
    of_peak = flops / ms * 1000 / peak
    sentence = (
        f"Matrix products take {percent_text(case.share('matmul'))} of the step and run at"
        f" {f'{percent_text(of_peak)} of ' if of_peak < 1 else ''}the measured peak: only less work or a lower"
        " precision makes them faster."
    )
    return timed(case, "near the peak", sentence, "high", case.ms("matmul"), saves_ms=0.0)


def far_from_peak(case: ExplainedCase) -> Finding | None:
    """Find large operators that run far below the measured peaks, with no other rule about them."""
    slow = [kernel for kernel in case.profile.kernels if _is_slow(case, kernel)]
    ms = sum(kernel.ms for kernel in slow)
    if not case.takes(ms, 3 * SHARE) or _any(case, SLOWING):
        return None
    rate = case.rate(slow[0])
    share = percent_text(rate.share or 0.0) if rate else ""
    sentence = (
        f"{slow[0].title} on {slow[0].shape} runs at {share} of the measured peak and takes"
        f" {of_step(case, ms)}: its inputs may be unfavorably shaped, or its values hard to compute; no rule"
        " says which."
    )
    return timed(case, "far from the peak", sentence, "low", ms)


SLOWING = (denormals, strided, unaligned, double_precision, gathering, page_faults, preempted)
"""Rules that say why operators are slow."""


def _is_slow(case: ExplainedCase, kernel: KernelTime) -> bool:
    """Return whether a call is large, and its rate far from the peak."""
    rate = case.rate(kernel)
    if rate is None or rate.share is None or rate.share >= FAR_FROM_PEAK or not kernel.count:
        return False
    large = LARGE_FLOPS if rate.text_unit == "FLOP/s" else LARGE_BYTES
    return (kernel.flops or kernel.bytes or 0.0) / kernel.count >= large


def _is_fast(case: ExplainedCase, kernel: KernelTime) -> bool:
    rate = case.rate(kernel)
    return rate is not None and (rate.share or 0.0) >= FAST


def _any(case: ExplainedCase, rules: Iterable[Callable[[ExplainedCase], Finding | None]]) -> bool:
    return any(rule(case) for rule in rules)

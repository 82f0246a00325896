"""Shapes of the sentences about one explained case: findings and notes, with the figures in them."""

import re
from collections.abc import Callable
from typing import Any

from .cases import Groups, Row
from .claims import Claim, shapes
from .host_sentences import OF_A_HOST, TAKEN
from .profile import Profile
from .report_text import NUMBER, parse_mb, parse_number

THREADED = ("matmul", "attention", "elementwise", "gather", "copy", "optimizer")
MEMORY_KINDS = {
    "Activations are": (
        "activations_mb",
        "activation_checkpointing=on or a smaller batch reduces them",
        "a smaller batch reduces them",
    ),
    "The state of the optimizer is": ("optimizer_mb", "adamw-8bit needs about a quarter of it, sgd none"),
    "Weights in float32 are": (
        "weights_mb",
        "bfloat16 halves them, quantization stores them in 8 or 4 bits",
    ),
    "The KV cache is": ("cache_mb", "it grows with the batch and with the tokens of prompt and answer"),
}
"""Kinds of memory by the words of their sentence: field, and what may be said to reduce it."""

WAITS = {
    "python": "Python",
    "tokenizer": "the tokenizer",
    "input": "the DataLoader",
    "compile": "torch's compiler",
    "wait": "a sleeping thread",
}

Figures = Callable[[Profile, Groups], dict[str, float | None]]
"""Computes the figures of a sentence by the name of their group."""


def _says(figures: Figures, *templates: str) -> tuple[Any, *tuple[str, ...]]:
    """Return a sentence shape whose numbers are these figures."""

    def check(claim: Claim, shown: Groups, profile: Profile) -> None:
        for name, value in figures(profile, shown).items():
            if shown.get(name) is not None:
                claim.require_value(shown[name], value, name)

    return check, *templates


def _of_family(*families: str) -> Figures:
    """Return figures about the time of families, and their operators."""

    def figures(profile: Profile, shown: Groups) -> dict[str, float | None]:
        ms = profile.ms(*families)
        return {
            "ms": ms,
            "share": 100 * ms / profile.step_ms,
            "calls": sum(profile.family(each).get("launches", 0.0) for each in families),
        }

    return figures


def _times(profile: Profile, shown: Groups) -> dict[str, float | None]:
    plain_ms, measured_ms = profile.plain_ms, profile.measured_ms
    return {
        "measured": measured_ms,
        "plain": plain_ms,
        "step": profile.step_ms,
        "n": profile.found["steps"],
        "slower": 100 * (profile.step_ms / plain_ms - 1),
        "drift": 100 * abs(plain_ms / measured_ms - 1) if measured_ms else None,
        "apart": 100 * abs(profile.step_ms / measured_ms - 1) if measured_ms else None,
    }


def _idle(profile: Profile, shown: Groups) -> dict[str, float | None]:
    idle = profile.found.get("idle_ms", {})
    ms, launches = sum(idle.values()), profile.found["launches"]
    return {
        "ms": ms,
        "share": 100 * ms / profile.step_ms,
        "launches": launches,
        "us": 1000 * profile.found["busy_ms"] / launches,
        "most": idle.get("python", 0.0),
        "step": profile.step_ms,
    }


def _loop(profile: Profile, shown: Groups) -> dict[str, float | None]:
    kernel = _kernel(profile, shown["name"], shown.get("shape"))
    gaps_ms = profile.ms("python") * min(1.0, kernel["count"] / profile.found["launches"])
    each_us = 1000 * kernel["ms"] / kernel["count"]
    return {"calls": kernel["count"], "us": each_us, "ms": kernel["ms"] + gaps_ms}


def _copies(profile: Profile, shown: Groups) -> dict[str, float | None]:
    fills = ("aten::fill_", "aten::zero_")
    ms = profile.ms("copy") - sum(each["ms"] for each in profile.kernels if each["name"] in fills)
    copies = [each for each in profile.kernels if each["family"] == "copy" and each["name"] not in fills]
    return {"ms": ms, "share": 100 * ms / profile.step_ms} | _longest(copies, shown)


def _gathers(profile: Profile, shown: Groups) -> dict[str, float | None]:
    gathers = [each for each in profile.kernels if each["family"] == "gather"]
    return _of_family("gather")(profile, shown) | _longest(gathers, shown)


def _longest(kernels: list[Row], shown: Groups) -> dict[str, float | None]:
    if not kernels:
        return {}
    longest = max(kernels, key=lambda each: each["ms"])
    named = longest["name"] == shown["name"]
    return {"calls": longest["count"], "longest": longest["ms"] if named else None}


def _of_kernels(profile: Profile, chosen: list[Row], shown: Groups) -> dict[str, float | None]:
    """Return the time of some operators; None if they don't begin with the named one."""
    ms = sum(each["ms"] for each in chosen)
    shape = shown.get("shape") or chosen[0].get("shape")
    agrees = (chosen[0]["name"], chosen[0].get("shape")) == (shown["name"], shape)
    return {"ms": ms if agrees else None, "share": 100 * ms / profile.step_ms}


def _denormals(profile: Profile, shown: Groups) -> dict[str, float | None]:
    chosen = [each for each in profile.kernels if (each.get("denormal_share") or 0) >= 0.01]
    of_input = 100 * max(each["denormal_share"] for each in chosen)
    return _of_kernels(profile, chosen, shown) | {"input": of_input}


def _strided(profile: Profile, shown: Groups) -> dict[str, float | None]:
    chosen = [each for each in profile.kernels if each.get("strided") and not each.get("denormal_share")]
    return _of_kernels(profile, chosen, shown)


def _attention(profile: Profile, shown: Groups) -> dict[str, float | None]:
    scores = (each["ms"] for each in profile.kernels if each["name"].endswith(("bmm", "softmax")))
    ms = max(profile.ms("attention"), sum(scores))
    return {"ms": ms, "share": 100 * ms / profile.step_ms}


def _far(profile: Profile, shown: Groups) -> dict[str, float | None]:
    chosen = [each for each in profile.kernels if each.get("bytes") and each["bytes"] >= 4e6 * each["count"]]
    peak = 100 * chosen[0]["bytes"] / chosen[0]["ms"] * 1000 / profile.peaks["bytes_per_s"]
    return _of_kernels(profile, chosen, shown) | {"peak": peak}


def _threads(profile: Profile, shown: Groups) -> dict[str, float | None]:
    ms, threads, processors = profile.ms(*THREADED), profile.found["threads"], profile.found["processors"]
    saved_ms = ms * (1 - threads / processors)
    return {
        "threads": threads,
        "processors": processors,
        "again": processors,
        "share": 100 * ms / profile.step_ms,
        "saved": saved_ms,
        "step": profile.step_ms,
    }


def _doubles(profile: Profile, shown: Groups) -> dict[str, float | None]:
    ms = sum(each["ms"] for each in profile.kernels if " double" in (each.get("shape") or ""))
    named = _kernel(profile, shown["name"], shown["shape"])
    return {"ms": ms if " double" in named["shape"] else None, "share": 100 * ms / profile.step_ms}


def _breaks(profile: Profile, shown: Groups) -> dict[str, float | None]:
    first, *others = profile.found["graph_breaks"]
    agrees = (first.get("where"), first["reason"].rstrip(".")) == (shown.get("where"), shown["reason"])
    return {"more": len(others) if agrees else None}


def _recompiles(profile: Profile, shown: Groups) -> dict[str, float | None]:
    known = profile.found["recompiles"]
    agrees = (known[0].get("where"), known[0]["guard"]) == (shown.get("where"), shown["guard"])
    times = {"times": sum(each.get("count", 1) for each in known) if agrees else None}
    return _of_family("compile")(profile, shown) | times


def _near_peak(profile: Profile, shown: Groups) -> dict[str, float | None]:
    counted = [each for each in profile.kernels if each["family"] == "matmul" and each.get("flops")]
    rate = sum(each["flops"] for each in counted) / sum(each["ms"] for each in counted) * 1000
    peak_share = 100 * rate / profile.peaks["flops_per_s"]
    return {**_of_family("matmul")(profile, shown), "peak": peak_share}


def _at_peak(profile: Profile, shown: Groups) -> dict[str, float | None]:
    """Check a rate that exceeds the measured peak, so that its share isn't given."""
    found = _near_peak(profile, shown)
    share = found.pop("peak")
    if share is None or share < 99.5:
        raise ValueError(f"they run at {share}% of the peak")
    return found


def _kernel(profile: Profile, name: str, shape: str | None) -> Row:
    first, *_ = [each for each in profile.kernels if (each["name"], each.get("shape")) == (name, shape)]
    return first


def _check_step(claim: Claim, shown: Groups, profile: Profile) -> None:
    """Check how long a step takes, and how busy the device is."""
    figures = _times(profile, shown) | {
        "launches": profile.found["launches"],
        "threads": profile.found.get("threads"),
        "cpus": profile.found.get("busy_cpus"),
        "processors": profile.found.get("processors"),
        "busy": profile.found.get("busy_ms"),
        "of": profile.step_ms,
        "launching": profile.found.get("launching_ms"),
    }
    for name in (name for name in figures if shown.get(name)):
        claim.require_value(shown[name], figures[name], name)
    waits = {
        words: ms
        for ms, words in re.findall(rf"({NUMBER}) ms for (.+?)(?:, | and |$)", shown.get("waits") or "")
    }
    idle = {WAITS[family]: ms for family, ms in profile.found.get("idle_ms", {}).items()}
    claim.require(waits.keys() == idle.keys(), f"the GPU waits {idle}")
    for words in waits.keys() & idle.keys():
        claim.require_value(waits[words], idle[words], words)
    parts = profile.found.get("parts_ms", {})
    whole = max(sum(parts.values()), profile.found["plain_ms"])
    for share, part in re.findall(rf"({NUMBER})% in (.+?)(?:, | and |$)", shown.get("parts") or ""):
        claim.require_value(share, 100 * parts[part] / whole, part)


def _check_place(claim: Claim, shown: Groups, profile: Profile) -> None:
    """Check a graph break: its place and reason, and how many others there are."""
    more = _breaks(profile, shown)["more"]
    claim.require(more is not None and more == parse_number(shown["more"] or "0"), "another break is the first")


def _check_memory(claim: Claim, shown: Groups, profile: Profile) -> None:
    """Check the share of a kind of memory, and what is said to reduce it."""
    field, *advice = MEMORY_KINDS[shown["kind"]]
    kinds = ("weights_mb", "gradients_mb", "optimizer_mb", "activations_mb", "cache_mb")
    total_mb, size_mb = sum(profile.memory.get(each) or 0.0 for each in kinds), profile.memory[field]
    claim.require_value(shown["share"], 100 * size_mb / total_mb, "the share")
    for name, value_mb in (("size", size_mb), ("total", total_mb)):
        number, unit_mb = parse_mb(shown[name])
        claim.require_value(number, value_mb / unit_mb, name)
    claim.require(shown["advice"] in advice, "unknown advice")


def _check_growth(claim: Claim, shown: Groups, profile: Profile) -> None:
    number, unit_mb = parse_mb(shown["size"])
    claim.require_value(number, profile.memory["growth_mb"] / unit_mb, "the growth")


def _check_drift(claim: Claim, shown: Groups, profile: Profile) -> None:
    for name in ("plain", "measured", "drift"):
        claim.require_value(shown[name], _times(profile, shown)[name], name)
    longer = profile.plain_ms > (profile.measured_ms or 0.0)
    claim.require(shown["how"] == ("longer" if longer else "shorter"), "the other way round")


def _check_apart(claim: Claim, shown: Groups, profile: Profile) -> None:
    for name in ("step", "measured", "apart"):
        claim.require_value(shown[name], _times(profile, shown)[name], name)
    longer = profile.step_ms > (profile.measured_ms or 0.0)
    claim.require(shown["how"] == ("longer" if longer else "shorter"), "the other way round")


def _check_changes(claim: Claim, shown: Groups, profile: Profile) -> None:
    claim.require(shown["changes"] == "; ".join(profile.changed), f"changes are {profile.changed}")


_STEP = (
    "[{measured:num} ms measured, ]{plain:num} ms in this run without the profiler, {step:num} ms with it (mean"
    " of {n:num})"
)
OF_A_CASE = shapes(
    (
        _check_step,
        f"{_STEP}. {{launches:num}} operator[s] per step[ on {{threads:num}} thread[s]][, {{cpus:num}}[ of"
        " {processors:num}] CPUs busy][. The step spends {parts:text}].",
        f"{_STEP}. The GPU is busy for {{busy:num}} of {{of:num}} ms[, and waits {{waits:any}}];"
        " {launches:num} kernels and copies per step[, {launching:num} ms to launch them]"
        "[. The step spends {parts:text}].",
    ),
    _says(
        _times,
        "Profiling lengthened the step by {slower:num}%: {step:num} ms instead of {plain:num} ms. Times of many"
        " short operators are overstated.",
    ),
    _says(
        _of_family("wait"),
        f"For {TAKEN}, the main thread sleeps while no operator runs: it waits for something outside torch,"
        " such as time.sleep, a lock, a file or the network.",
    ),
    _says(
        _idle,
        f"For {TAKEN}, the GPU waits for the host: {{launches:num}} launches of {{us:num}} µs on average"
        "[; CUDA graphs (compile=reduce-overhead) or larger batches can hide at most {most:num} ms of"
        " {step:num} ms].",
    ),
    _says(
        _loop,
        "{name:any} runs {calls:num} times per step[ on {shape:any}], {us:num} µs each: calling it takes about"
        " as long as its work. Including its share of the gaps between operators, that is {ms:num} ms; a"
        " single batched call could replace them.",
    ),
    _says(
        _of_family("tokenizer"),
        f"Tokenizing takes {TAKEN}, while the device is idle: tokenize the data set ahead of time, or in"
        " parallel (tokenizer_threads).",
    ),
    _says(
        _copies,
        f"Copies and casts take {TAKEN}[; most of it is {{name:any}}[ of {{shape:text}}], {{calls:num}} times"
        " per step, {longest:num} ms]. They compute nothing.",
    ),
    _says(
        _threads,
        "Operators run on {threads:num} thread[s] of {processors:num} processors and take {share:num}% of the"
        " step: threads={again:num} can save at most {saved:num} ms of {step:num} ms.",
    ),
    _says(
        _doubles,
        f"{TAKEN} computes in float64, most of it {{name:any}} on {{shape:any}}: a NumPy array or a Python"
        " float may have promoted the rest. float32 moves half the bytes.",
    ),
    (
        _check_place,
        "The compiler breaks the graph[ at {where:any}][, and at {more:num} other place[s]]: {reason:any}.",
    ),
    _says(
        _recompiles,
        "{where:any} was recompiled ({times:num} recompile[s] in total). Failed guard: {guard:any}"
        "[; padding=max or torch.compile(dynamic=True) avoids recompiling for each length]."
        f"[ Compiling takes {TAKEN}.]",
        "Functions were recompiled ({times:num} recompile[s] in total). Failed guard: {guard:any}"
        "[; padding=max or torch.compile(dynamic=True) avoids recompiling for each length]."
        f"[ Compiling takes {TAKEN}.]",
    ),
    _says(
        _of_family("compile"),
        f"torch's compiler runs in measured steps, for {TAKEN}: warm up longer.",
    ),
    _says(
        _gathers,
        f"Embedding, indexing and gathering take {TAKEN}[; most of it is {{name:any}}[ of {{shape:text}}],"
        " {calls:num} times per step, {longest:num} ms]. They read memory in the order of their indices, at a"
        " fraction of its rate: index once, sort the indices, or use slices.",
    ),
    _says(
        _denormals,
        f"{{name:any}} computes with denormal numbers ({{input:num}}% of an input) and takes {TAKEN}:"
        " torch.set_flush_denormal(True) makes them zeros; without it, each takes many times as long.",
    ),
    _says(
        _strided,
        f"{{name:any}} on {{shape:any}} reads inputs that aren't contiguous, in {TAKEN}: neighbors in the"
        " tensor aren't neighbors in memory, so most of each cache line is wasted. Store the tensor in the"
        " order in which it is read (contiguous() once, outside of the step).",
    ),
    _says(
        _attention,
        f"Attention ({{how:any}}) takes {TAKEN}: it stores the scores of all pairs of tokens. A fused kernel"
        " (attention=sdpa) doesn't.",
    ),
    _says(
        _far,
        f"{{name:any}} on {{shape:any}} runs at {{peak:num}}% of the measured peak and takes {TAKEN}: its"
        " inputs may be unfavorably shaped, or its values hard to compute; no rule says which.",
    ),
    *OF_A_HOST,
    (
        _check_growth,
        "Each step allocates {size:memory} that it never frees: something keeps an activation or a graph, such"
        " as a list of losses without detach().",
    ),
    (
        _check_memory,
        "{kind:any} {share:num}% of the memory of the step ({size:memory} of {total:memory}): {advice:any}.",
    ),
    _says(
        _of_family("elementwise"),
        f"Normalization and elementwise operators take {TAKEN} without being fused: compile=default could"
        " save up to that much.",
    ),
    _says(
        _of_family("optimizer"),
        f"The optimizer takes {TAKEN} in {{calls:num}} operators: it reads and writes all weights and its"
        " state once per step, regardless of the batch size. A fused one (adamw-fused) calls fewer operators;"
        " accumulation runs it less often.",
    ),
    _says(
        _near_peak,
        "Matrix products take {share:num}% of the step and run at {peak:num}% of the measured peak: only less"
        " work or a lower precision makes them faster.",
    ),
    _says(
        _at_peak,
        "Matrix products take {share:num}% of the step and run at the measured peak: only less work or a lower"
        " precision makes them faster.",
    ),
    (
        _check_drift,
        "Without the profiler, the step of this run took {plain:num} ms, {drift:num}% {how:word} than the"
        " measured {measured:num} ms: the machine was in a different state, or the steps differ.",
    ),
    (
        _check_apart,
        "The profiled step took {step:num} ms, {apart:num}% {how:word} than the measured {measured:num} ms.",
    ),
    (_check_changes, "Changed since the case was measured: {changes:any}."),
)

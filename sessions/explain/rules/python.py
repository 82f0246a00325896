"""Rules about Python: many calls of small operators, its garbage collector, and code outside of torch."""

from math import ceil

from msgspec.structs import replace

from benchtui.sessions.explain.cases import SHARE, ExplainedCase
from benchtui.sessions.explain.finding import (
    Finding,
    in_profile,
    ms_text,
    of_plain_step,
    of_program,
    of_step,
    timed,
)
from benchtui.sessions.explain.rules.host import OPERATORS, at_place, kernel_ms, mostly, reading, system_calls
from benchtui.sessions.profiles import Place
from benchtui.sessions.text.formatting import count, listed, number

MANY_CALLS = 50
"""Minimum number of values read in a step that is worth a sentence."""
MANY_OPERATORS = 200
"""Minimum number of operators per step whose calls are worth counting."""
CALL_US = 3.0
"""Time to call an operator of torch from Python, whatever it computes."""
WITHIN = 0.2
"""That time of an operator that another one calls, as a share."""
ITEMS = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal")
"""Operators that give Python a number: ``.item()``, ``float(x)``, ``if x:``."""


def items(case: ExplainedCase) -> Finding | None:
    """Find tensors whose values are read one by one in Python."""
    read = [kernel for kernel in case.profile.kernels if kernel.called in ITEMS]
    calls = max((kernel.count for kernel in read), default=0.0)
    if calls < MANY_CALLS:
        return None
    gaps_ms = min(1.0, calls / max(case.profile.launches, 1.0)) * case.ms("python")
    ms = sum(kernel.ms for kernel in read) + gaps_ms
    if case.lengthened:
        ms = min(1.0, calls * CALL_US / 1000 / case.profile.plain_ms) * case.profile.step_ms
    if not case.takes(ms, SHARE):
        return None
    sentence = (
        f"Python reads single values of tensors {calls:,.0f} times per step (.item(), float(x), if x:). With"
        f" their share of the gaps, that is about {of_plain_step(case, ms)}; on a GPU each also waits for the"
        " device. Compare and select in tensors, and read once."
    )
    return timed(case, "items", sentence, "high", ms)


def many_operators(case: ExplainedCase) -> Finding | None:
    """Find a CPU step whose operators are so short that calling them takes most of it, by plain steps alone."""
    profile = case.profile
    operators = sum(kernel.count for kernel in profile.kernels if "::" in kernel.name)
    within = max(0.0, operators - profile.launches)
    calls = profile.launches + WITHIN * within
    if profile.busy_ms is not None or calls < MANY_OPERATORS or not profile.plain_ms:
        return None
    if items(case):
        return None
    share = min(1.0, calls * CALL_US / 1000 / profile.plain_ms)
    if share < SHARE:
        return None
    most = max(profile.kernels, key=lambda kernel: kernel.ms)
    shape = f" on {most.shape}" if most.shape else ""
    others = f", which call {ceil(within):,} others" if within > profile.launches else ""
    each_us = 1000 * profile.plain_ms / max(profile.launches, 1.0)
    sentence = (
        f"{ceil(profile.launches):,} operators are called from Python per step of {ms_text(profile.plain_ms)}"
        f" without the profiler, such as {most.name}{shape} ({most.count:,.0f} times): {number(each_us)} µs"
        f" each{others}. A call alone takes 1 to 3 µs, whatever it computes: a batched call in place of a loop,"
        " fewer calls on larger tensors, or compile=default, save most of that."
    )
    return timed(
        case, "many operators", sentence, "medium", share * profile.step_ms, remedy={"compile": "default"}
    )


def diagnosing(case: ExplainedCase) -> Finding | None:
    """Find modes that slow a step: Python and its calls, or what would run in faster code."""
    modes = case.profile.diagnostics
    if not modes:
        return None
    sentence = (
        f"The step runs with {listed(list(modes))}, which slows it: turn that off for measuring and in"
        " production."
    )
    slower = ("matmul",) if any(mode.startswith("oneDNN") for mode in modes) else ()
    return of_program(case, "diagnostics", sentence, case.ms("python", "other", *slower))


def collecting(case: ExplainedCase) -> Finding | None:
    """Find a step in which Python's garbage collector runs for long."""
    host = case.profile.host
    ms = in_profile(case, host.collecting_ms) if host else 0.0
    if not case.takes(ms, SHARE):
        return None
    sentence = (
        f"Python's garbage collector runs for {of_plain_step(case, ms)}: gc.freeze() after loading excludes"
        " living objects, gc.disable() turns it off."
    )
    return timed(case, "garbage collection", sentence, "high", ms)


def native_code(case: ExplainedCase) -> Finding | None:
    """Find native code outside of torch: it runs without Python's lock while torch runs no operator."""
    gaps_ms, native = unexplained_gaps_ms(case), _outside_operators(case)
    share = sum(place.share for place in native)
    if share < sum(place.share for place in case.profile.places if place.activity == "python"):
        return None
    ms = min(gaps_ms, share * case.profile.step_ms)
    if case.profile.busy_ms is not None or not case.takes(ms, 2 * SHARE) or ms < gaps_ms / 2:
        return None
    kernel = system_calls(case) or reading(case)
    if kernel and (kernel.ms or 0.0) >= ms / 2:
        return None
    more = f", or{at_place(native[1:])}" if len(native) > 1 and native[1].share >= SHARE else ""
    sentence = (
        f"Native code outside of torch, such as NumPy's, takes {of_step(case, ms)}{at_place(native)}{more}."
    )
    return timed(case, "native code", sentence, "medium", ms)


def _outside_operators(case: ExplainedCase) -> list[Place]:
    """Return the lines that run native code outside of operators.

    The share of operators that no sample is known to be of is taken from the longest lines.
    """
    places, outside = case.profile.places, []
    known = sum(place.share for place in places if place.activity == "operator")
    operators = max(0.0, case.share(*OPERATORS) - known)
    for place in places:
        if place.activity == "native":
            outside.append(replace(place, share=max(0.0, place.share - operators)))
            operators = max(0.0, operators - place.share)
    return sorted(outside, key=lambda place: -place.share)


def python_gaps(case: ExplainedCase) -> Finding | None:
    """Find a CPU step in which Python takes much time between operators."""
    ms = unexplained_gaps_ms(case)
    if case.profile.busy_ms is not None or not case.takes(ms, 2 * SHARE):
        return None
    if native_code(case):
        return None
    lengthened = ". The profiler lengthens these gaps" if case.slowdown > 0.15 else ""
    sentence = (
        f"Python and the gaps between operators take {of_step(case, ms)}, with"
        f" {count(round(case.profile.launches), 'operator')} called from Python{mostly(case)}{lengthened}."
    )
    return timed(case, "Python gaps", sentence, "medium", ms)


def unexplained_gaps_ms(case: ExplainedCase) -> float:
    """Return the time without an operator that the kernel, the garbage collector and calls don't take."""
    host = case.profile.host
    collecting_ms = in_profile(case, host.collecting_ms) if host else 0.0
    allocating_ms = case.ms("python", "copy", "elementwise", "gather", "other")
    in_kernel_ms = kernel_ms(case) * (1.0 if reading(case) else case.ms("python") / max(allocating_ms, 1e-9))
    calls = (finding for rule in (many_operators, items) if (finding := rule(case)))
    called_ms = max((finding.ms or 0.0 for finding in calls), default=0.0)
    return max(0.0, _plain_gaps_ms(case) - collecting_ms - in_kernel_ms - called_ms)


def _plain_gaps_ms(case: ExplainedCase) -> float:
    """Return the time without an operator that a plain step can have.

    Operators leave no more of it, apart from waits for a processor that come and go, and its thread doesn't run
    longer than its CPU time. Next to a neighbor, it doesn't run all the time.
    """
    profile, gaps_ms, host = case.profile, case.ms("python"), case.profile.host
    left_ms = profile.plain_ms + case.lost_ms - (profile.step_ms - gaps_ms)
    if host is None:
        return max(0.0, min(gaps_ms, left_ms))
    running = host.cpu_ms / ((host.cpu_ms + (host.delay_ms or 0.0)) or 1.0) if case.delayed else 1.0
    return max(0.0, min(running * gaps_ms, left_ms, in_profile(case, host.cpu_ms)))

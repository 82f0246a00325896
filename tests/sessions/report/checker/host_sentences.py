"""Shapes of the findings about a case's host: waits, threads, the kernel, Python and places in code."""

import re
from typing import Any

from .cases import Groups, Row
from .claims import Claim
from .profile import Profile
from .report_text import parse_mb, parse_number

TAKEN = "{share:num}% of the step ({ms:num} ms)"
AT = "[ at {place:any}]"
OPERATORS = ("matmul", "attention", "elementwise", "gather", "copy", "optimizer", "collective", "other")
PAGE_MB = 4096 / 1e6
_WAITS = {
    "sleeps": ("sleep", "wait"),
    "waits for a lock or another thread": ("lock",),
    "waits for a file": ("file",),
    "waits for another process": ("pipe",),
    "waits for the network": ("network",),
    "waits for another process or the network": ("events",),
    "waits for a child process": ("process", "pipe", "events", "lock"),
}


def _check(claim: Claim, shown: Groups, figures: dict[str, float | None]) -> None:
    for name, value in figures.items():
        if shown.get(name) is not None:
            claim.require_value(shown[name], value, name)


def _taken(profile: Profile, ms: float, whole_ms: float | None = None) -> dict[str, float | None]:
    """Return share and time of a time of the profiled step, shown as one of a step of ``whole_ms``."""
    share = ms / profile.step_ms
    return {"share": 100 * share, "ms": share * (whole_ms or profile.step_ms)}


def _of_plain(profile: Profile, host_ms: float) -> dict[str, float | None]:
    share = min(1.0, host_ms / profile.found["host"]["step_ms"])
    return {"share": 100 * share, "ms": share * profile.plain_ms}


def _kernel_ms(profile: Profile) -> float:
    return float(profile.found["host"]["main_kernel_ms"])


def _place(place: Row) -> str:
    code = f", `{place['code']}`" if place["code"] else ""
    within = f" (in {place['within']})" if place.get("within") else ""
    return f"{place['where']}{code}{within}"


def _require_place(claim: Claim, shown: Groups, profile: Profile, *activities: str) -> None:
    if shown.get("place"):
        places = (each for each in profile.found.get("places", []) if each["activity"] in activities)
        claim.require(
            shown["place"] == _place(next(places, {"where": "", "code": ""})), "another place is first"
        )


def _input(claim: Claim, shown: Groups, profile: Profile) -> None:
    ms = profile.ms("input")
    if shown.get("part"):
        parts = profile.found["parts_ms"]
        whole = max(sum(parts.values()), profile.plain_ms)
        ms = parts[shown["part"]] / whole * profile.step_ms
    _check(claim, shown, _taken(profile, ms))
    if shown.get("rate"):
        rest_ms = (profile.measured_ms or profile.plain_ms) * (1 - ms / profile.step_ms)
        claim.require_value(shown["rate"], 1000 * profile.row["samples_per_step"] / rest_ms, "the ceiling")
    _require_place(claim, shown, profile, "python")


def _waiting(claim: Claim, shown: Groups, profile: Profile) -> None:
    _check(claim, shown, _taken(profile, profile.ms("wait")))
    claim.require(shown["what"] in _WAITS, "an unknown wait")
    waits = [activity for activities in _WAITS.values() for activity in activities]
    _require_place(claim, shown, profile, *waits)


def _threads(claim: Claim, shown: Groups, profile: Profile) -> None:
    host = profile.found["host"]
    cpu_ms = sum(each["cpu_ms"] for each in host["threads"])
    claim.require_value(shown["busy"], 100 * cpu_ms / host["step_ms"], "the threads")
    _check(claim, shown, _taken(profile, profile.ms("wait")))
    names = re.split(r", | and ", shown["names"])
    claim.require(set(names) <= {each["name"] for each in host["threads"]}, "other threads")


def _preempted(claim: Claim, shown: Groups, profile: Profile) -> None:
    host = profile.found["host"]
    siblings = max((profile.found.get("threads") or 1) - 1, 1)
    delay_ms = max(host["delay_ms"], host.get("other_delays_ms", 0.0) / siblings)
    delay_ms = min(delay_ms, host["others_ms"])
    _check(claim, shown, _taken(profile, min(1.0, delay_ms / host["step_ms"]) * profile.step_ms))


def _too_many(claim: Claim, shown: Groups, profile: Profile) -> None:
    threads, processors = profile.found["threads"], profile.found["processors"]
    figures = {"threads": threads, "processors": processors, "again": processors}
    _check(claim, shown, _taken(profile, profile.ms(*OPERATORS)) | figures)


def _faults(claim: Claim, shown: Groups, profile: Profile) -> None:
    faults = profile.found["host"]["page_faults"]
    _check(claim, shown, _of_plain(profile, _kernel_ms(profile)) | {"faults": faults})
    number, unit_mb = parse_mb(shown["size"])
    claim.require_value(number, faults * PAGE_MB / unit_mb, "the memory")


def _reading(claim: Claim, shown: Groups, profile: Profile) -> None:
    _check(claim, shown, _of_plain(profile, _kernel_ms(profile)))
    number, unit_mb = parse_mb(shown["size"])
    field = {"reads": "read_mb", "writes": "written_mb"}[shown["verb"]]
    claim.require_value(number, profile.found["host"].get(field, 0.0) / unit_mb, "the bytes")
    _require_place(claim, shown, profile, "file", "native")


def _calls(claim: Claim, shown: Groups, profile: Profile) -> None:
    _check(claim, shown, _of_plain(profile, _kernel_ms(profile)))
    _require_place(claim, shown, profile, "python")


def _collecting(claim: Claim, shown: Groups, profile: Profile) -> None:
    _check(claim, shown, _of_plain(profile, profile.found["host"]["collecting_ms"]))


def _native(claim: Claim, shown: Groups, profile: Profile) -> None:
    native = sum(each["share"] for each in profile.found["places"] if each["activity"] == "native")
    others = profile.ms(*OPERATORS) / profile.step_ms
    _check(claim, shown, _taken(profile, min(_gaps_ms(profile), (native - others) * profile.step_ms)))
    _require_place(claim, shown, profile, "native")


def _gaps_ms(profile: Profile) -> float:
    """Return the time of Python without the kernel's, the collector's and that of repeated calls."""
    gaps_ms, host = profile.ms("python"), profile.found.get("host")
    called_ms = max((_called_ms(profile, each) for each in profile.kernels if _is_repeated(each)), default=0.0)
    called_ms = called_ms if called_ms >= 0.1 * profile.step_ms else 0.0
    if host is None:
        return max(0.0, gaps_ms - called_ms)
    allocating_ms = profile.ms("python", "copy", "elementwise", "gather", "other")
    in_kernel = 1.0 if host.get("read_mb", 0.0) >= 1 else gaps_ms / max(allocating_ms, 1e-9)
    other_ms = host.get("collecting_ms", 0.0) + in_kernel * _kernel_ms(profile)
    return max(0.0, gaps_ms - other_ms / host["step_ms"] * profile.step_ms - called_ms)


def _is_repeated(kernel: Row) -> bool:
    small = kernel.get("flops") is not None and kernel["flops"] <= 2e6 * kernel["count"]
    return kernel["count"] >= 50 and (kernel["name"] == "aten::item" or small)


def _called_ms(profile: Profile, kernel: Row) -> float:
    share = min(1.0, kernel["count"] / profile.found["launches"])
    return float(kernel["ms"]) + share * profile.ms("python")


def _python(claim: Claim, shown: Groups, profile: Profile) -> None:
    figures = _taken(profile, _gaps_ms(profile)) | {"calls": profile.found["launches"]}
    _check(claim, shown, figures)
    _require_place(claim, shown, profile, "python")


def _many(claim: Claim, shown: Groups, profile: Profile) -> None:
    launches = profile.found["launches"]
    named = {"name": shown["name"], "shape": shown.get("shape")}
    calls = [each["count"] for each in profile.kernels if {key: each.get(key) for key in named} == named]
    claim.require(bool(calls), "no such operator")
    each_us = 1000 * profile.plain_ms / launches
    figures = {"all": launches, "plain": profile.plain_ms, "us": each_us}
    _check(claim, shown, figures | {"calls": max(calls, default=None)})


def _items(claim: Claim, shown: Groups, profile: Profile) -> None:
    (item,) = (each for each in profile.kernels if each["name"] == "aten::item")
    taken = _taken(profile, _called_ms(profile, item), profile.plain_ms)
    _check(claim, shown, taken | {"calls": item["count"]})


def _misfit(claim: Claim, shown: Groups, profile: Profile) -> None:
    known = {"plain": profile.plain_ms, "step": profile.step_ms, "measured": profile.measured_ms}
    _check(claim, shown, {name: value for name, value in known.items() if shown.get(name)})
    claim.require(parse_number(shown["plain"]) is not None, "no time")


_CEILING = "[ (without it at most {rate:num} samples/s)]"
_MISFIT = "The breakdown doesn't describe the measured step: "
_NOT_ITS = ". No share of it is the step's."
OF_A_HOST: tuple[tuple[Any, *tuple[str, ...]], ...] = (
    (
        _input,
        f"The step waits {TAKEN} for its DataLoader{_CEILING}: more workers, prefetching or cheaper"
        " preparation of samples hide it.",
        f"Part {{part:word}} takes {TAKEN}{_CEILING}[; most of it at {{place:any}}]: it can be prepared ahead"
        " of the step, in another process.",
    ),
    (_waiting, f"For {TAKEN}, the main thread {{what:any}}{AT}."),
    (
        _threads,
        "Another thread of this process, {names:any}, uses {busy:num}% of a processor during the step: it"
        " competes for Python's lock and for processors.",
        "Another thread of this process, {names:any}, uses {busy:num}% of a processor during the step: the main"
        f" thread waits {TAKEN} meanwhile, for its result or for Python's lock.",
    ),
    (
        _preempted,
        f"For about {TAKEN}, threads of the step were ready to run but waited for a processor that other"
        " processes used. With those gone, explain the case again.",
    ),
    (
        _too_many,
        "Operators run on {threads:num} threads, but the process may use {processors:num} processor[s]: the"
        f" threads take turns and wait for each other in {TAKEN}. threads={{again:num}} avoids that.",
    ),
    (
        _faults,
        f"{{faults:num}} page faults per step: the kernel takes {TAKEN} to map and clear memory"
        " ({size:memory}) that is freed and allocated again. Reuse buffers (out=), or let the allocator keep"
        " freed memory: MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ in [env] for glibc.".replace(
            "[env]", "{where:any}"
        ),
    ),
    (
        _reading,
        f"Each step {{verb:word}} {{size:memory}} (files, pipes or sockets){AT}, for which the kernel takes"
        f" {TAKEN}: keep the data in memory, or map the file.",
    ),
    (
        _calls,
        f"The kernel works for {TAKEN}: the step makes many or long system calls"
        "[; most of it at {place:any}].",
    ),
    (
        _collecting,
        f"Python's garbage collector runs for {TAKEN}: gc.freeze() after loading excludes living objects,"
        " gc.disable() turns it off.",
    ),
    (_native, f"Native code outside of torch, such as NumPy's, takes {TAKEN}{AT}[, or at {{second:any}}]."),
    (
        _python,
        f"Python and the gaps between operators take {TAKEN}, with {{calls:num}} operator[s] called from Python"
        "[; most of it at {place:any}][. The profiler lengthens these gaps].",
    ),
    (
        _many,
        "{all:num} operators are called from Python per step of {plain:num} ms without the profiler, such as"
        " {name:any}[ on {shape:any}] ({calls:num} times): {us:num} µs each. A call alone takes 1 to 3 µs,"
        " whatever it computes: fewer calls on larger tensors, or compile=default, save most of that.",
    ),
    (
        _items,
        "Python reads single values of tensors {calls:num} times per step (.item(), float(x), if x:). With"
        f" their share of the gaps, that is about {TAKEN}; on a GPU each also waits for the device. Compare and"
        " select in tensors, and read once.",
    ),
    (
        _misfit,
        f"{_MISFIT}its steps took {{plain:num}} ms without the profiler and {{step:num}} ms with it: steps"
        f" differ from each other{_NOT_ITS}",
        f"{_MISFIT}a step took {{plain:num}} ms without the profiler in this run, {{measured:num}} ms when it"
        f" was measured{_NOT_ITS}",
        f"{_MISFIT}the profiler lengthened it from {{plain:num}} to {{step:num}} ms{_NOT_ITS}",
    ),
)
"""Checks and templates of the findings about the host."""

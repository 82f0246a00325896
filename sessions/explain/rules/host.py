"""Rules about the host: what the main thread waits for, other threads and processes, the kernel, Python."""

from collections import defaultdict
from collections.abc import Container, Iterable
from math import inf

from benchtui.sessions.explain.cases import MOST_MAPPING_MS, PAGE_MB, RUNNING, SHARE, ExplainedCase
from benchtui.sessions.explain.finding import (
    Confidence,
    Finding,
    Remedy,
    in_profile,
    ms_text,
    of_plain_step,
    of_step,
    percent_text,
    timed,
    with_parameter,
    with_variables,
)
from benchtui.sessions.profiles import END, Activity, FamilyName, HostUse, Place
from benchtui.sessions.sweep import named_values
from benchtui.sessions.text.formatting import count, listed, memory, number

ARITHMETIC: tuple[FamilyName, ...] = ("matmul", "attention", "elementwise", "gather", "copy", "optimizer")
"""Families whose operators run on several threads."""
OPERATORS: tuple[FamilyName, ...] = (*ARITHMETIC, "collective", "other")
INPUT_PARTS = ("data", "input", "inputs", "batch", "load", "loading", "fetch")
"""Names of parts in which a step of the user's gets its data."""
WORKERS = ("workers", "num_workers", "loader_workers")
"""Names of parameters of a step that set the number of a DataLoader's workers."""
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "8589934592"}
"""Variables with which glibc keeps freed memory (mallopt(3))."""
REUSE = (
    "Reuse buffers (out=), or let the allocator keep freed memory: MALLOC_MMAP_THRESHOLD_ and"
    " MALLOC_TRIM_THRESHOLD_ in [env] for glibc."
)
HUGE_MB = 2**21 / 1e6
MOST_MAPPED_SHARE = 0.9
"""Largest share of a step that memory which isn't mapped again is expected to save."""
LEAST_MAPPED_MB = 0.8
"""Minimum memory mapped per step that is worth a sentence, in units of 10**6 bytes."""
LEAST_IO_MB = 1.0
"""Minimum bytes per step of reading or writing that is worth a sentence, in units of 10**6."""

_WAITS: dict[Activity, str] = {
    "sleep": "sleeps",
    "lock": "waits for a lock or another thread",
    "file": "waits for a file",
    "pipe": "waits for another process",
    "network": "waits for the network",
    "events": "waits for an event: another process, the network or a timer",
    "process": "waits for a child process",
    "wait": "sleeps",
}
"""Activities in which a thread doesn't run, in words."""


def input_data(case: ExplainedCase) -> Finding | None:
    """Find a step that waits for its DataLoader, or for a part of its own that loads data."""
    ms = case.ms("input")
    sure: Confidence = "high"
    shares = {name: share for name, share in case.part_shares.items() if name.lower() in INPUT_PARTS}
    if case.takes(ms, SHARE):
        sentence = (
            f"The step waits {of_step(case, ms)} for its DataLoader{_ceiling(case, ms)}:"
            " more workers, prefetching or cheaper preparation of samples hide it."
        )
    elif shares and max(shares.values()) >= 3 * SHARE:
        part, share = next(iter(shares.items()))
        ms, sure = share * case.profile.step_ms, "medium"
        sentence = (
            f"Part {part} takes {of_step(case, ms)}{_ceiling(case, ms)}{mostly(case)}: it can be prepared"
            " ahead of the step, in another process."
        )
    else:
        return None
    saves_ms, remedy = _more_workers(case, max(ms, _plain_waits_ms(case, ms)))
    expected_ms = None if saves_ms is None else min(saves_ms, case.profile.step_ms - _work_ms(case))
    return timed(case, "input", sentence, sure, ms, saves_ms=saves_ms, expected_ms=expected_ms, remedy=remedy)


def _ceiling(case: ExplainedCase, ms: float) -> str:
    """Return the throughput without a time of the step."""
    samples, whole_ms = case.case.samples_per_step, case.measured_ms or case.profile.plain_ms
    rest_ms = whole_ms * max(0.0, 1 - ms / case.profile.step_ms)
    return f" (without it at most {number(1000 * samples / rest_ms)} samples/s)" if samples and rest_ms else ""


def _more_workers(case: ExplainedCase, waits_ms: float) -> tuple[float | None, Remedy | None]:
    """Return the most that twice as many workers save, which still load a batch in turns, and that remedy."""
    parameters = named_values.scalars(case.case.config.parameters)
    name = next((name for name in WORKERS if isinstance(parameters.get(name), int)), None)
    if name is None:
        return None, None
    workers, step_ms = int(parameters[name]), case.profile.step_ms
    more = 2 * workers or min(case.profile.processors or 1, 4)
    loading_ms = step_ms * workers / more if workers else waits_ms / more
    return step_ms - max(step_ms - waits_ms, loading_ms), with_parameter(case, name, more)


def _plain_waits_ms(case: ExplainedCase, ms: float) -> float:
    """Return the wait of plain steps: all but the rest of a profiled one, before which batches are prepared."""
    rest_ms = case.profile.step_ms - ms
    return in_profile(case, case.mean_undelayed_ms - rest_ms) if case.profile.host else ms


def _work_ms(case: ExplainedCase) -> float:
    """Return the shortest time in which all processors do the work of a step, its children's included."""
    host, processors = case.profile.host, case.profile.processors
    if host is None or not processors:
        return case.profile.step_ms
    return in_profile(case, (host.user_ms + host.kernel_ms + host.children_ms) / processors)


def waiting(case: ExplainedCase) -> Finding | None:
    """Find a main thread that sleeps while no operator runs, with the place and the system call."""
    share, ms = case.share("wait"), case.ms("wait")
    if not case.takes(ms, SHARE) or _by_thread(case) or (_file_wait_ms(case) and reading(case)):
        return None
    places = [place for place in case.profile.places if place.activity in _WAITS]
    if not places and case.delayed:  # its time asleep is what other times leave of a step
        return None
    if not places:
        sentence = (
            f"For {of_step(case, ms)}, the main thread sleeps while no operator runs: it waits for something"
            " outside torch, such as time.sleep, a lock, a file or the network."
        )
        return timed(case, "sleeping", sentence, "high" if share >= 2 * SHARE else "medium", ms)
    host = case.profile.host
    activity = _main_activity(places)
    places = [place for place in places if place.activity == activity]
    if activity in ("pipe", "events", "lock") and host and host.children_ms >= ms / 2:
        activity = "process"
    sentence = f"For {of_step(case, ms)}, the main thread {_WAITS[activity]}{at_place(places)}."
    return timed(case, "sleeping", sentence, "high" if share >= 2 * SHARE else "medium", ms)


def waiting_at_times(case: ExplainedCase) -> Finding | None:
    """Find waits of some steps, by the sampled lines alone."""
    places = [place for place in case.profile.places if place.activity in _WAITS]
    share = sum(place.share for place in places)
    if not case.uneven or share < 2 * SHARE:
        return None
    sentence = (
        f"In some of the steps, the main thread {_WAITS[_main_activity(places)]}, {percent_text(share)} of the"
        f" time in all{at_place(places)}: data that comes more slowly than steps need it, or a busy lock."
    )
    return Finding("sleeping", sentence, "medium")


def _main_activity(places: Iterable[Place]) -> Activity:
    shares: dict[Activity, float] = {}
    for place in places:
        shares[place.activity] = shares.get(place.activity, 0.0) + place.share
    return max(shares, key=lambda activity: shares[activity])


def at_place(places: Iterable[Place]) -> str:
    """Return the first place as the end of a sentence: `` at own.py:12, `time.sleep(1)` ``."""
    place = next(iter(places), None)
    if place is None:
        return ""
    code = f", `{place.code}`" if place.code else ""
    within = f" (in {place.within})" if place.within else ""
    return f" at {place.where}{code}{within}"


def other_threads(case: ExplainedCase) -> Finding | None:
    """Find Python threads of the process that compete with the step, or that it waits for."""
    ms = _by_thread(case)
    host = case.profile.host
    if not ms or host is None:
        return None
    threads = sorted(host.threads, key=lambda thread: -thread.cpu_ms)
    names = listed([thread.name for thread in threads[:3]])
    busy = percent_text(sum(thread.cpu_ms for thread in threads) / host.step_ms)
    waits = case.share("wait") >= SHARE
    effect = (
        f"the main thread waits {of_step(case, case.ms('wait'))} meanwhile, for its result or for Python's lock"
        if waits
        else "it competes for Python's lock and for processors"
    )
    sentence = f"Another thread of this process, {names}, uses {busy} of a processor during the step: {effect}."
    return timed(case, "other threads", sentence, "high" if waits else "medium", ms)


def _by_thread(case: ExplainedCase) -> float:
    """Return the time of the step that other Python threads can have taken; 0 if they work for the step."""
    host = case.profile.host
    if host is None or not host.step_ms:
        return 0.0
    cpu_ms = sum(thread.cpu_ms for thread in host.threads)
    if cpu_ms < 2 * SHARE * host.step_ms:
        return 0.0
    if case.profile.filled_ms >= in_profile(case, cpu_ms) / 2:
        return 0.0
    return min(in_profile(case, cpu_ms), case.profile.step_ms)


def preempted(case: ExplainedCase) -> Finding | None:
    """Find threads that were ready to run but waited for a processor."""
    host = case.profile.host
    if host is None or host.delay_ms is None or host.others_ms is None or too_many_threads(case):
        return None
    siblings = max((case.profile.threads or 1) - 1, 1)
    delay_ms = max(host.delay_ms, host.other_delays_ms / siblings)
    waited = min(delay_ms, host.others_ms) / host.step_ms if host.step_ms else 0.0
    ms = min(waited, 1.0) * case.profile.step_ms
    if not case.takes(ms, SHARE):
        return None
    sentence = (
        f"For about {of_step(case, ms)}, threads of the step were ready to run but waited for a processor that"
        " other processes used. With those gone, explain the case again."
    )
    return timed(case, "preempted", sentence, "medium", ms)


def few_threads(case: ExplainedCase) -> Finding | None:
    """Find a CPU case that uses fewer threads than there are processors."""
    profile = case.profile
    threads, processors = profile.threads, profile.processors
    if profile.busy_ms is not None or not threads or not processors or threads >= processors:
        return None
    ms = case.ms(*ARITHMETIC)
    if not case.takes(ms, 0.5):
        return None
    saved_ms = ms * (1 - threads / processors)
    sentence = (
        f"Operators run on {count(threads, 'thread')} of {processors} processors and take"
        f" {percent_text(ms / profile.step_ms)} of the step: threads={processors} can save at most"
        f" {ms_text(saved_ms)} of {ms_text(profile.step_ms)}."
    )
    expected_ms = (ms - max(kernel_ms(case), _below_peak_ms(case))) * (1 - threads / processors)
    remedy = {"threads": processors}
    return timed(case, "few threads", sentence, "medium", saved_ms, expected_ms=expected_ms, remedy=remedy)


def _below_peak_ms(case: ExplainedCase) -> float:
    """Return the time of products beyond that at the peak, in which they wait for memory that threads share."""
    rates = [(kernel.ms, case.rate(kernel)) for kernel in case.profile.kernels if kernel.flops]
    return sum(ms * max(0.0, 1 - rate.share) for ms, rate in rates if rate and rate.share)


def too_many_threads(case: ExplainedCase) -> Finding | None:
    """Find a CPU case with more threads than processors, which wait for each other."""
    profile = case.profile
    threads, processors = profile.threads, profile.processors
    if profile.busy_ms is not None or not threads or not processors or threads <= processors:
        return None
    ms = case.ms(*OPERATORS)
    saved_ms = min(ms, profile.step_ms - case.ms("wait") - _running_ms(case))
    if not case.takes(saved_ms, SHARE):
        return None
    sentence = (
        f"Operators run on {threads} threads, but the process may use {count(processors, 'processor')}: they"
        f" take {of_step(case, ms)}, in which the threads take turns and wait for each other."
        f" threads={processors} can save at most the time in which the main thread doesn't run:"
        f" {ms_text(saved_ms)} of {ms_text(profile.step_ms)}."
    )
    expected_ms = profile.step_ms * (1 - case.recorded_cpus / processors) - case.ms("wait")
    remedy = {"threads": processors}
    return timed(case, "too many threads", sentence, "high", saved_ms, expected_ms=expected_ms, remedy=remedy)


def _running_ms(case: ExplainedCase) -> float:
    """Return the time in which the main thread runs outside of the kernel, in which it wakes the others.

    With fewer threads, it gets a larger part of the work, so this time remains. Bounds by an even share of the
    processors are no bounds: products of 128x128 on two processors took 7 times as long with four threads.
    """
    host = case.profile.host
    return in_profile(case, host.cpu_ms - host.main_kernel_ms) if host else 0.0


def page_faults(case: ExplainedCase) -> Finding | None:
    """Find memory that each step gets from the kernel and returns to it."""
    host, ms = case.profile.host, kernel_ms(case)
    if host is None or _io_mb(host):
        return None
    if mapped_mb(host) < LEAST_MAPPED_MB or not case.takes(min(ms, _recorded_ms(case)), SHARE):
        return _unprofiled_faults(case, host)
    if mapped_mb(host) * MOST_MAPPING_MS < host.main_kernel_ms / 2 or _is_kept(case, host):
        return None
    saved_ms = min(_mapping_ms(case, host), MOST_MAPPED_SHARE * case.profile.step_ms)
    others = f", with other threads at most {of_plain_step(case, saved_ms)}," if saved_ms > 1.1 * ms else ""
    sentence = (
        f"{host.page_faults:,.0f} page faults per step: the kernel takes {of_plain_step(case, ms)}{others} to"
        f" map and clear memory ({memory(mapped_mb(host))}) that is freed and allocated again. {REUSE}"
    )
    return _faults(case, sentence, "high", ms, saved_ms)


def _faults(case: ExplainedCase, sentence: str, sure: Confidence, ms: float, saved_ms: float) -> Finding:
    """Return the finding; the remedy is expected to save what the kernel took of a measured step.

    The busy processors share its work.
    """
    recorded_ms = _recorded_ms(case)
    expected_ms = None if recorded_ms == inf else recorded_ms
    remedy = with_variables(case, KEEP_MEMORY)
    return timed(
        case, "page faults", sentence, sure, ms, saves_ms=saved_ms, expected_ms=expected_ms, remedy=remedy
    )


def _unprofiled_faults(case: ExplainedCase, host: HostUse) -> Finding | None:
    """Find page faults of the measured steps alone: here, memory of the profiler lies above freed memory."""
    share = case.unprofiled_mapping_ms / case.measured_ms if case.measured_ms else 0.0
    most_ms = share * case.profile.step_ms
    ms = min(most_ms, _recorded_ms(case))
    if not case.takes(ms, SHARE):
        return None
    sentence = (
        f"{case.recorded_faults[0]:,.0f} page faults per measured step, {host.page_faults:,.0f} in this run,"
        f" next to the profiler: the kernel took at most {percent_text(share)} of the measured step"
        f" ({ms_text(case.unprofiled_mapping_ms)}) to map and clear memory that is freed and allocated again."
        f" {REUSE}"
    )
    return _faults(case, sentence, "medium", ms, most_ms)


def _recorded_ms(case: ExplainedCase) -> float:
    """Return the time in the kernel of a measured step over its busy processors; infinite if not recorded."""
    whole_ms = case.measured_ms
    if not whole_ms or not any(
        end.environment and end.environment.system_ms is not None for end in case.case.ends
    ):
        return inf
    return case.recorded_faults[1] / max(case.recorded_cpus, 1.0) / whole_ms * case.profile.step_ms


def _mapping_ms(case: ExplainedCase, host: HostUse) -> float:
    """Return the time in the kernel, of which that of the other threads overlaps the main one's by half.

    With kept memory, a convolution of 6.1 ms with 2.4 ms of the main thread in the kernel, and as much of the
    other's, took 2.8 ms.
    """
    return in_profile(case, (host.main_kernel_ms + max(host.kernel_ms, host.main_kernel_ms)) / 2)


def _is_kept(case: ExplainedCase, host: HostUse) -> bool:
    """Return whether each step keeps a large part of the memory that it maps, so that no reuse could help."""
    return (case.profile.memory.growth_mb or 0.0) >= mapped_mb(host) / 3


def reading(case: ExplainedCase) -> Finding | None:
    """Find files, pipes or sockets that are read or written in each step."""
    host = case.profile.host
    if host is None or not _io_mb(host):
        return None
    waits_ms, works_ms = _file_wait_ms(case), kernel_ms(case)
    ms = waits_ms + works_ms
    if not case.takes(ms, SHARE):
        return None
    verb, size = ("reads", host.read_mb) if host.read_mb >= host.written_mb else ("writes", host.written_mb)
    places = [place for place in case.profile.places if place.activity == "file"]
    sentence = (
        f"Each step {verb} {memory(size)} (files, pipes or sockets){at_place(places)}, which takes"
        f" {of_plain_step(case, ms)} in the kernel{' and waiting' if waits_ms else ''}: keep the data in"
        " memory, map the file, or leave it to another thread."
    )
    return timed(case, "reading", sentence, "high", ms)


def _file_wait_ms(case: ExplainedCase) -> float:
    """Return the time in which the main thread sleeps, if it mostly waits for files."""
    places = [place for place in case.profile.places if place.activity in _WAITS]
    return case.ms("wait") if places and _main_activity(places) == "file" else 0.0


def system_calls(case: ExplainedCase) -> Finding | None:
    """Find much time in the kernel that neither page faults nor reading explains, nor memory that is kept."""
    host = case.profile.host
    mapping_ms = in_profile(case, mapped_mb(host) * MOST_MAPPING_MS) if host else 0.0
    ms = kernel_ms(case) - mapping_ms
    if not case.takes(ms, 2 * SHARE) or page_faults(case) or reading(case):
        return None
    taken, where = of_plain_step(case, ms), mostly(case, ("python", "native", "file", "pipe", "network"))
    sentence = f"The kernel works for {taken}: the step makes many or long system calls{where}."
    return timed(case, "kernel time", sentence, "medium", ms)


def _io_mb(host: HostUse) -> float:
    """Return the bytes read or written if they are worth a sentence, and more than the page faults move."""
    moved_mb = max(host.read_mb, host.written_mb)
    return moved_mb if moved_mb >= max(LEAST_IO_MB, mapped_mb(host) / 2) else 0.0


def kernel_ms(case: ExplainedCase) -> float:
    """Return the time of the main thread in the kernel, in proportion to the profiled step."""
    return in_profile(case, case.profile.host.main_kernel_ms) if case.profile.host else 0.0


def mapped_mb(host: HostUse) -> float:
    """Return the memory that page faults map in a step."""
    return host.page_faults * PAGE_MB + host.huge_pages * HUGE_MB


def mostly(case: ExplainedCase, activities: Container[Activity] = ("python",)) -> str:
    """Return the line with most of these activities, rather than operators, as the end of a sentence."""
    lines = defaultdict[str, float](float)
    for place in case.profile.places:
        others = place.activity in RUNNING and place.activity not in activities
        lines[place.where] += -place.share if others else place.share * (place.activity in activities)
    places = [place for place in case.profile.places if place.activity in activities]
    places.sort(key=lambda place: -lines[place.where])
    share = sum(place.share for place in places if place.where == places[0].where)
    if share < SHARE:
        return ""
    made = [place for place in places if place.where != END] if places[0].where == END else []
    freed = f", which frees what it made; next{at_place(made)}" if made else ""
    return f"; most of it{at_place(places)}{freed}"

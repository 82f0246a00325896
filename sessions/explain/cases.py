"""Explained cases: a profile with the case's measured step, and metrics derived from both."""

from collections.abc import Sequence
from math import log
from statistics import fmean, median

import msgspec
from msgspec.structs import replace

from benchtui.sessions.analysis.roofline import OVER, peaks_of, sound_peaks
from benchtui.sessions.events import Peaks
from benchtui.sessions.profiles import FamilyName, KernelTime, StepProfile
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import computed_metrics, counted

FAMILIES: dict[FamilyName, str] = {
    "matmul": "matrix products",
    "attention": "attention",
    "elementwise": "normalization and elementwise",
    "gather": "embedding and gather",
    "copy": "copies and casts",
    "optimizer": "optimizer",
    "collective": "collectives",
    "tokenizer": "tokenizer",
    "input": "DataLoader",
    "compile": "compiling",
    "other": "other operators",
    "python": "Python and launch gaps",
    "wait": "waiting",
}
"""Names of the families, in the order in which families of equal time are shown."""
SHOWN_KERNELS = 10
SHARE = 0.1
"""Smallest share of a step that is worth a sentence."""
RUNNING = ("python", "operator", "native")
"""What a thread does while it isn't asleep."""
LENGTHENED = 1.0
"""Extra time under the profiler, as a share, above which the breakdown isn't that of the plain step."""
DIFFERS = 0.3
"""Relative difference from the usual measured steps above which a breakdown doesn't describe them."""
MOST_WAITING = 1.0
"""Extra time over the usual measured steps, as a share, that may consist of waits for a processor."""
LEAST_EXPLAINED = 0.8
"""Smallest share of operators of known families in a step about which nothing is unusual."""
LEAST_UNDELAYED = 0.2
"""Smallest share of a step that is taken as its own, however long its threads waited for a processor."""
MOSTLY_UNDELAYED = 0.9
"""Smallest such share of a step whose findings may have high confidence."""
PAGE_MB = 4096 / 1e6
MOST_MAPPING_MS = 0.6
"""Longest time in which the kernel maps and clears 10**6 bytes of memory: 2.5 microseconds per page fault."""
OVER_PEAK = 1.05
"""Largest share of a measured peak that its error explains."""
SLOWED = 0.15
"""Relative difference between two times of a step above which it is reported."""


class KernelRate(msgspec.Struct, frozen=True):
    """Rate of an operator or kernel, and its share of the device's measured peak."""

    text_unit: str
    """``FLOP/s`` or ``B/s``."""
    per_s: float
    share: float | None
    """None if the peak wasn't measured."""


class ExplainedCase(msgspec.Struct, frozen=True):
    """A case with a profile."""

    case: CaseState
    profile: StepProfile
    measured_ms: float | None
    """Median of the recorded steps; None if there are none."""
    peaks: Peaks | None = None
    """Peaks of its device, except rates that a case of the session exceeded."""
    changed: tuple[str, ...] = ()
    """Changes of machine or software since the case was measured."""

    @property
    def label(self) -> str:
        """Short name of the case: its number, from 1 as on the screen."""
        return f"case {self.case.index + 1}"

    def applied(self, option: str) -> object:
        """Return the value of an option that the task reports, or else the requested one."""
        others = self.case.effective.others if self.case.effective else {}
        return others.get(option, getattr(self.case.config, option))

    @property
    def slowdown(self) -> float:
        """Extra time of a step under the profiler, as a share of the plain step."""
        return self.profile.step_ms / self.profile.plain_ms - 1 if self.profile.plain_ms else 0.0

    @property
    def drift(self) -> float | None:
        """Extra time of this run's plain step over the measured step, as a share of the latter."""
        return self.profile.plain_ms / self.measured_ms - 1 if self.measured_ms else None

    @property
    def lengthened(self) -> bool:
        """Whether the profiler lengthened the step so much that its breakdown isn't that of a plain step.

        The page faults that it adds fall into the step's own operators, so they don't count.
        """
        added_ms = self.profile.added_user_ms
        own = self.slowdown if added_ms is None else added_ms / max(self.profile.plain_ms, 1e-9)
        return min(self.slowdown, own) > LENGTHENED

    @property
    def differs(self) -> bool:
        """Whether the steps of this run, with or without the profiler, aren't like the measured one."""
        return self.profile.step_ms < (1 - DIFFERS) * self._undelayed_ms or self.drifted or self.uneven

    @property
    def uneven(self) -> bool:
        """Whether only some steps wait, such as those that come before their data, and the profiled ones don't.

        While the profiler starts, loaders prepare the batches of the next steps. Next to a neighbor, steps of
        several threads can take longer for it than these waited for a processor.
        """
        host, typical_ms = self.profile.host, max(self.profile.step_ms, self.profile.plain_ms)
        longer = host is not None and self.mean_undelayed_ms > (1 + DIFFERS) * typical_ms
        waiting = sum(place.share for place in self.profile.places if place.activity not in RUNNING)
        return longer and (not self.delayed or waiting >= 2 * SHARE)

    @property
    def drifted(self) -> bool:
        """Whether plain steps differ from all usual measured ones by more than some waits for a processor."""
        if not self.measured_ms:
            return False
        usual = _usual_ms(self.case) or (self.measured_ms, self.measured_ms)
        longer = self._undelayed_ms > (1 + DIFFERS) * usual[1]
        longer = longer or self.profile.plain_ms > (1 + MOST_WAITING) * usual[1]
        shortest_ms = usual[0] - _measured_delay_ms(self.case) - _mapping_ms(*self.recorded_faults)
        return longer or self.profile.plain_ms < (1 - DIFFERS) * shortest_ms

    @property
    def recorded_cpus(self) -> float:
        """Processors that the measured steps kept busy; those of this run if that wasn't recorded."""
        used = [end.environment.worker_cpu for end in self.case.ends if end.environment]
        recorded = [busy for busy in used if busy]
        return fmean(recorded) if recorded else self.profile.busy_cpus or 1.0

    @property
    def recorded_faults(self) -> tuple[float, float]:
        """Page faults of a measured step, and the time of all threads in the kernel in milliseconds."""
        used = [end.environment for end in self.case.ends if end.environment]
        faults = [one.minor_faults_per_step or 0.0 for one in used]
        return (fmean(faults), fmean(one.system_ms or 0.0 for one in used)) if used else (0.0, 0.0)

    @property
    def unprofiled_mapping_ms(self) -> float:
        """Time, at most, in which the kernel mapped memory in a measured step that those of this run reused."""
        host, whole_ms = self.profile.host, self.measured_ms
        if host is None or not whole_ms:
            return 0.0
        faults, in_kernel_ms = self.recorded_faults
        mapping_ms = _mapping_ms(faults - host.page_faults, in_kernel_ms - host.kernel_ms)
        return max(0.0, min(mapping_ms, whole_ms - self.profile.plain_ms))

    @property
    def lost_ms(self) -> float:
        """Time in which a plain step waited for processors that others used: operators wait for all threads."""
        host = self.profile.host
        if host is None:
            return 0.0
        operators_ms = host.step_ms * (1 - self.share("python", "wait", "input", "tokenizer", "compile"))
        return min((host.delay_ms or 0.0) + min(host.other_delays_ms, operators_ms), host.others_ms or 0.0)

    @property
    def mean_undelayed_ms(self) -> float:
        """Mean time of a plain step without waits for a processor that others used; 0 if it wasn't watched."""
        return max(0.0, self.profile.host.step_ms - self.lost_ms) if self.profile.host else 0.0

    @property
    def _undelayed_ms(self) -> float:
        """Usual plain step, or a mean one without waits for a processor if that is shorter."""
        plain_ms = self.profile.plain_ms
        return min(plain_ms, self.mean_undelayed_ms) if self.profile.host else plain_ms

    @property
    def explained_share(self) -> float:
        """Share of operators of known families in the step without the profiler, which lengthens the gaps."""
        whole_ms = min(self.profile.step_ms, self.profile.plain_ms)
        known_ms = self.profile.step_ms - self.ms("other", "python", "wait", "input", "compile")
        return min(1.0, known_ms / whole_ms) if whole_ms else 0.0

    @property
    def part_shares(self) -> dict[str, float]:
        """Share of each part in a step without the profiler, the largest first. A step of one part has none."""
        parts = self.profile.parts_ms
        whole = max(sum(parts.values()), self.profile.plain_ms)
        if len(parts) < 2 or not whole:
            return {}
        return {name: parts[name] / whole for name in sorted(parts, key=lambda name: -parts[name])}

    def ms(self, *families: FamilyName) -> float:
        """Return the total time of these families per step, in milliseconds."""
        return sum(family.ms for family in self.profile.families if family.family in families)

    def share(self, *families: FamilyName) -> float:
        """Return the share of these families in the profiled step."""
        return self.ms(*families) / self.profile.step_ms if self.profile.step_ms else 0.0

    @property
    def delayed(self) -> bool:
        """Whether waits for a processor that others used are so long that causes are less certain."""
        return self._undelayed_share < MOSTLY_UNDELAYED

    @property
    def _undelayed_share(self) -> float:
        whole_ms = self.profile.host.step_ms if self.profile.host else 0.0
        return self.mean_undelayed_ms / whole_ms if whole_ms else 1.0

    def takes(self, ms: float, least: float) -> bool:
        """Return whether a time is at least this share of the profiled step without waits for a processor.

        Profiled steps that are as short as undelayed ones contain none of these waits.
        """
        step_ms = self.profile.step_ms
        undelayed_ms = max(LEAST_UNDELAYED * step_ms, self.mean_undelayed_ms) if self.profile.host else step_ms
        return step_ms > 0 and ms >= least * min(step_ms, undelayed_ms)

    def rate(self, kernel: KernelTime) -> KernelRate | None:
        """Return the rate of a matrix product or attention in FLOP/s, of other operators in bytes/s."""
        if not kernel.ms:
            return None
        if kernel.flops:
            return _rate("FLOP/s", kernel.flops, kernel.ms, self.peaks.flops_per_s if self.peaks else None)
        if kernel.bytes:
            return _rate("B/s", kernel.bytes, kernel.ms, self.peaks.bytes_per_s if self.peaks else None)
        return None


def _rate(unit: str, amount: float, ms: float, peak: float | None) -> KernelRate:
    per_s = amount / ms * 1000
    return KernelRate(unit, per_s, per_s / peak if peak else None)


def misfit(case: CaseState, profile: StepProfile) -> float:
    """Return by how much profiled steps differ from the measured ones, as a logarithm; 0 if they are alike."""
    whole_ms = measured_ms(case)
    if not whole_ms or not ExplainedCase(case, profile, whole_ms).differs:
        return 0.0
    return abs(log(profile.plain_ms / whole_ms)) + abs(log(profile.step_ms / profile.plain_ms))


def explained_case(
    session: Session, case: CaseState, peaks: Sequence[Peaks] | None = None
) -> ExplainedCase | None:
    """Return an explained case; None if it has no profile. ``peaks`` are the session's, if already known."""
    if case.explained is None or case.explained.profile is None:
        return None
    sound = _sound_peaks(session) if peaks is None else peaks
    profile = case.explained.profile
    return ExplainedCase(case, profile, measured_ms(case), _own_peaks(case, sound), case.explained.changed)


def _sound_peaks(session: Session) -> tuple[Peaks, ...]:
    """Return the peaks without the rates that a case or an operator exceeded, which can't be peaks."""
    sound = sound_peaks(session.cases, session.peaks)
    for case in session.cases:
        profile, peaks = case.explained.profile if case.explained else None, _own_peaks(case, sound)
        if profile is None or peaks is None or not peaks.flops_per_s:
            continue
        kernels = (kernel for kernel in profile.kernels if kernel.flops and kernel.ms)
        fastest = max(((kernel.flops or 0.0) / kernel.ms * 1000 for kernel in kernels), default=0.0)
        if fastest > OVER_PEAK * peaks.flops_per_s:
            refused = replace(peaks, flops_per_s=None, absent={**peaks.absent, "flops": OVER})
            sound = tuple(refused if rates is peaks else rates for rates in sound)
    return sound


def _own_peaks(case: CaseState, peaks: Sequence[Peaks]) -> Peaks | None:
    """Return the peaks of a case when it was profiled. Rounds that are added later measure them again."""
    before = [rates for rates in peaks if case.explained and rates.t <= case.explained.t]
    return peaks_of(case, before) or peaks_of(case, peaks)


def explained_cases(session: Session) -> tuple[ExplainedCase, ...]:
    """Return all cases with a profile, in plan order."""
    if not any(case.explained for case in session.cases):
        return ()
    peaks = _sound_peaks(session)
    explained = (explained_case(session, case, peaks) for case in session.cases)
    return tuple(filter(None, explained))


def _mapping_ms(page_faults: float, in_kernel_ms: float) -> float:
    """Return the time of so many page faults, at most that in the kernel."""
    return max(0.0, min(in_kernel_ms, page_faults * PAGE_MB * MOST_MAPPING_MS))


def _measured_delay_ms(case: CaseState) -> float:
    """Return the time per recorded step in which threads waited for a processor; 0 if that wasn't counted."""
    delays_s = (end.environment.run_delay_s or 0.0 for end in case.ends if end.environment)
    return 1000 * sum(delays_s) / case.steps_measured if case.steps_measured else 0.0


def _usual_ms(case: CaseState) -> tuple[float, float] | None:
    """Return the range of the recorded steps, in rounds that count; None without any.

    Of few steps, that is the interval of their median: they may take one of two times, such as those that wait
    for another process.
    """
    if metrics := computed_metrics(case):
        spread = metrics.latency_ms
        ranges = (spread.p5, spread.p95), (spread.low, spread.high), (spread.least, spread.most)
        return next(((low, high) for low, high in ranges if low is not None and high is not None), None)
    times_ms = sorted(counted(case).measured.wall_ms)
    last = len(times_ms) - 1
    return (times_ms[round(0.05 * last)], times_ms[round(0.95 * last)]) if times_ms else None


def measured_ms(case: CaseState) -> float | None:
    """Return the median time of the recorded steps, in rounds that count."""
    if metrics := computed_metrics(case):
        return metrics.latency_ms.median
    return median(counted(case).measured.wall_ms) if len(case.measured) else None

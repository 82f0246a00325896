"""Whether something else than the case had a hand in its times: pure rules over what was recorded around it."""

from __future__ import annotations  # for cases, whose module imports this one

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchtui.sessions.payloads import THROTTLES, Environment

if TYPE_CHECKING:
    from benchtui.sessions.state.case import CaseState

OTHERS_PERCENT = 25.0
OTHERS_SHARE = 0.1
"""Processors used by others from which a case is disturbed: a quarter of one, and a tenth of all there are."""
SWITCHES_PER_S = 100.0
"""Times a second that the worker lost its processor: a few are usual, a neighbour on it makes hundreds."""
LEAST_INTERRUPTING = 1.0
"""Percent of a processor below which others can't have interrupted so often: the worker's own threads did."""
LEAST_S = 0.2
"""Measured span below which a rate of such events says nothing."""
LEAST_CLOCK = 0.75
"""Share of its default below which a GPU's mean clock is worth measuring again (NVBench's threshold)."""
INTERRUPTED = 1.25
"""How many times as long a step may take that is interrupted often, or whose low clock isn't known."""
SHARED = 2.0
"""The same of a GPU that another process uses too."""
LEAST_PROCESSOR = 0.9
"""Processor time over wall time of a worker that computes on it, below which it had to wait for one."""
SHARED_PROCESSOR = "the worker waited for a processor"
KINDS = ("disturbed", "throttled", "clock", "shared GPU", "beside")
"""How the marks of this module begin."""
_CAUSES = {
    "throttled": "the GPU was throttled",
    "clock": "the GPU ran below its default clock",
    "shared GPU": "another process used the GPU",
    "stood still": "the machine stood still",
}
"""Marks by a word in them, as reasons."""


@dataclass(frozen=True, slots=True)
class Slowed:
    """How many times as long steps may have taken for want of a machine to themselves, and why."""

    by: float = 1.0
    why: tuple[str, ...] = ()


def slowed(case: CaseState, *, throughout: bool) -> Slowed:
    """How far its surroundings may have slowed a case: in its worst round, or ``throughout`` all of them."""
    on_cpu = case.config.device == "cpu"
    found = [_slowed(end.environment, end.measured_s, on_cpu=on_cpu) for end in case.ends]
    choose = min if throughout else max
    return choose(found, key=lambda each: each.by, default=Slowed())


def throttling(environment: Environment) -> tuple[str, ...]:
    """A mark for each way in which the GPU ran slower than it can."""
    found = []
    if reasons := [reason for reason in environment.throttle if reason in THROTTLES]:
        found.append(f"throttled: {'+'.join(reasons)}")
    clock, default = environment.sm_clock_mhz, environment.sm_clock_default_mhz
    if clock is not None and default and clock < LEAST_CLOCK * default:
        found.append(f"clock at {100 * clock / default:.0f}% of its default")
    return tuple(found)


def contention_marks(environment: Environment, span_s: float) -> tuple[str, ...]:
    """A mark for each way in which others used what the case needed, over a measured span in seconds."""
    found = []
    if (others := environment.others_cpu_percent) is not None and others >= _others_limit(environment):
        found.append(f"disturbed: others used {others:.0f}% of a processor")
    # beside other cases of ours it may have been one of them that took the processor
    switches = None if environment.beside else environment.involuntary_switches
    idle = others is not None and others < LEAST_INTERRUPTING
    if switches is not None and not idle and span_s >= LEAST_S and switches / span_s >= SWITCHES_PER_S:
        found.append(f"disturbed: interrupted {switches / span_s:.0f} times a second")
    if environment.stood_still_s:
        found.append(f"disturbed: stood still for {environment.stood_still_s:.0f} s")
    if others_there := environment.gpu_processes:
        found.append(f"shared GPU with {others_there} other process{'es' if others_there > 1 else ''}")
    return tuple(found)


def disturbances(environment: Environment, span_s: float) -> tuple[str, ...]:
    """Every mark that the surroundings of a case earn it."""
    return (*throttling(environment), *contention_marks(environment, span_s), *_company(environment))


def _slowed(environment: Environment | None, measured_s: tuple[float, float] | None, *, on_cpu: bool) -> Slowed:
    if environment is None:
        return Slowed()
    span_s = measured_s[1] - measured_s[0] if measured_s else 0.0
    marks = (*throttling(environment), *contention_marks(environment, span_s))
    factors = [_factor(environment, mark) for mark in marks]
    causes = [_cause(mark) for mark in marks]
    share = environment.worker_cpu
    if on_cpu and share is not None and 0 < share < LEAST_PROCESSOR:
        factors.append(1 / share)
        causes.append(SHARED_PROCESSOR)
    return Slowed(max(factors, default=1.0), tuple(dict.fromkeys(causes)))


def _cause(mark: str) -> str:
    """What a mark says, as a reason."""
    found = (cause for word, cause in _CAUSES.items() if word in mark)
    return next(found, "other processes were running")


def _factor(environment: Environment, mark: str) -> float:
    """How many times as long steps may take under what a mark says."""
    if "others used" in mark:
        used = (environment.others_cpu_percent or 0.0) / 100
        return 1 + used / max(1.0, (environment.processors or 1) / 2)
    if mark.startswith("shared GPU"):
        return SHARED
    clock, default = environment.sm_clock_mhz, environment.sm_clock_default_mhz
    if mark.startswith(("throttled", "clock")) and clock and default:
        return max(default / clock, 1.0)
    return INTERRUPTED


def _company(environment: Environment) -> tuple[str, ...]:
    """A mark for a case that was measured beside others of its sweep."""
    if not environment.beside:
        return ()
    unknown = ", and what else ran can't be told from them" if environment.others_cpu_percent is None else ""
    return (f"beside {environment.beside} of this sweep's cases{unknown}",)


def kind(mark: str) -> str:
    """What a mark says without its figures, for counting cases; a mark of another module is its own kind."""
    return next((name for name in KINDS if mark.startswith(name)), mark)


def over_rounds(rounds: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The marks of several rounds as those of their case: each disturbance at its worst, with its rounds."""
    marks = [mark for each in rounds for mark in each]
    found: dict[str, list[str]] = {}
    for mark in marks:
        found.setdefault(_without_figures(mark), []).append(mark)
    worst = ((max(same, key=_figure), len(same)) for same in found.values())
    return tuple(
        mark if kind(mark) == mark else f"{mark}, in {amount} of {len(rounds)} rounds" for mark, amount in worst
    )


def _without_figures(mark: str) -> str:
    return re.sub(r"\d+", "", mark) if kind(mark) != mark else mark


def _figure(mark: str) -> int:
    return int(next(iter(re.findall(r"\d+", mark)), 0))


def _others_limit(environment: Environment) -> float:
    return max(OTHERS_PERCENT, 100 * OTHERS_SHARE * (environment.processors or 1))

"""Waits: how long a case may wait for a quiet machine or a cooler GPU, and what ends the wait.

A case measured next to neighbors is repeated once the machine has been quiet for a moment. All waits for quiet
of an engine together take at most one limit and a quarter of the time since it started: a neighbor that never
leaves lengthens a sweep by no more than a third and one limit. A wait for a cooler GPU has only its own limit,
since the user asked for one before every case.

Disturbed rounds by turns can't be repeated case by case. They don't count, so the plan asks for further ones,
which start once the machine is quiet again.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from math import inf
from statistics import fmean

import msgspec

from benchtui.engine.executor import Node
from benchtui.engine.supervisor.case_queue import ScheduledRound
from benchtui.engine.supervisor.rounds.policy import Retry
from benchtui.sessions.events import CaseFinished, CasePrepared, Message, Telemetry, Waiting
from benchtui.sessions.payloads import Environment
from benchtui.sessions.stats.disturbance import IDLE_GPU_PERCENT, gpu_sharers, is_noisy
from benchtui.sessions.sweep import Run
from benchtui.sessions.sweep.model import WAIT_FOR_QUIET_S

CHECK_S = 0.5
"""Seconds between two checks of what a case waits for. No more readings arrive."""
SHARE_OF_SESSION = 0.25
"""Share of the time since the engine started that all waits for quiet may take, beyond one limit."""
QUIET_S = 2.0
"""Seconds over which a machine has to be quiet. Neighbors often pause for less."""
_MOST_SAMPLES = 64

Reading = tuple[float, float]
"""Session time, and the value at that time."""


class MachineLoads:
    """Newest readings by machine. Filled by the samplers' threads and read by the engine's loop."""

    def __init__(self) -> None:
        self._others: dict[str | None, deque[Reading]] = {}
        self._gpus: dict[tuple[str | None, int, str], Reading] = {}

    def add(self, event: Telemetry) -> None:
        """Add the readings of an event."""
        others = self._others.setdefault(event.node, deque(maxlen=_MOST_SAMPLES))
        others.extend(_known(event.at_s, event.host.others_cpu_percent))
        for gpu in event.gpus:
            for name in ("utilization_percent", "temperature_c"):
                if readings := _known(event.at_s, getattr(gpu, name)):
                    self._gpus[event.node, gpu.index, name] = readings[-1]

    def others_percent(self, node: str | None, since_s: float) -> float | None:
        """Return the CPU use of others over the newest ``QUIET_S``; None until that has passed since a time."""
        readings = list(self._others.get(node, ()))
        if not readings or readings[-1][0] - since_s < QUIET_S:
            return None
        return fmean(percent for at_s, percent in readings if at_s > readings[-1][0] - QUIET_S)

    def gpu_percent(self, node: str | None, index: int, since_s: float) -> float | None:
        """Return the newest utilization of a GPU; None if there is none later than ``QUIET_S`` after a time."""
        reading = self._gpus.get((node, index, "utilization_percent"))
        return reading[1] if reading and reading[0] >= since_s + QUIET_S else None

    def temperature_c(self, node: str | None, index: int) -> float | None:
        """Return the newest temperature of a GPU; None if it can't be read."""
        reading = self._gpus.get((node, index, "temperature_c"))
        return reading[1] if reading else None


def _known(at_s: list[float], column: list[float | None]) -> list[Reading]:
    return [(at, value) for at, value in zip(at_s, column, strict=False) if value is not None]


class Wait(msgspec.Struct, frozen=True):
    """A wait of one case."""

    what: str
    """What it waits for: ``quiet``, or a cooler GPU."""
    began_s: float
    most_s: float
    is_met: Callable[[], bool]
    for_quiet: bool = False

    def is_over(self, now_s: float) -> bool:
        """Return whether the wait has taken as long as it may."""
        return now_s >= self.began_s + self.most_s

    def left_s(self, now_s: float) -> float:
        """Return the seconds until the next check."""
        return max(0.0, min(CHECK_S, self.began_s + self.most_s - now_s))

    def announced(self, scheduled: ScheduledRound, reason: str = "") -> Iterator[Message | Waiting]:
        """Yield the events that say what a case waits for, and because of whom."""
        text = f"waiting for {self.what}"
        before = f"{reason}; " if reason else ""
        yield message_about(scheduled, f"{before}{text}, at most {self.most_s:.0f} s", self.began_s)
        yield Waiting(
            t=self.began_s,
            case=scheduled.case.index,
            round=scheduled.round,
            reason=f"{text}: {reason.removeprefix('disturbed: ')}" if reason else text,
            most_s=round(self.most_s, 3),
        )

    def timed_out(self, scheduled: ScheduledRound, consequence: str, now_s: float) -> Message:
        """Return the message that the wait is over, though what it was for hasn't come."""
        text = f"stopped waiting for {self.what} after {self.most_s:.0f} s; {consequence}"
        return message_about(scheduled, text, now_s)


def message_about(scheduled: ScheduledRound, text: str, now_s: float) -> Message:
    """Return a message about the round of a case."""
    return Message(t=now_s, level="info", text=f"{scheduled.case.name}: {text}")


class Waits:
    """Waits of all cases of an engine."""

    def __init__(
        self, rules: Run, nodes: Sequence[Node], loads: MachineLoads, began_s: float, until_s: float = inf
    ) -> None:
        """``until_s`` is the session time at which a search ends, and with it all waits for quiet."""
        self._rules = rules
        self._until_s = until_s
        self._hosts = {node.name: node.host for node in nodes}
        self._loads = loads
        self._began_s = began_s
        self._spent_s = 0.0
        self._gpus: dict[tuple[str | None, str], int] = {}
        """Driver's index of each node's devices, once a case has run on them."""

    def note_gpu(self, scheduled: ScheduledRound, event: CasePrepared) -> None:
        """Remember which GPU a device is."""
        gpus = self._hosts[scheduled.node].gpus if event.gpu_uuid else ()
        for gpu in gpus:
            if gpu.uuid == event.gpu_uuid:
                self._gpus[scheduled.node, scheduled.case.config.device] = gpu.index

    def quiet(self, scheduled: ScheduledRound, seen: Environment, now_s: float) -> Wait | None:
        """Return the wait after a measurement next to neighbors; None if all time for waits is used up."""
        limit_s = self._rules.wait_for_quiet_s or 0.0
        left_s = limit_s + SHARE_OF_SESSION * (now_s - self._began_s) - self._spent_s
        left_s = min(left_s, self._until_s - now_s)
        if left_s <= QUIET_S:
            return None

        def is_quiet() -> bool:
            return self._is_quiet(scheduled, seen, since_s=now_s)

        return Wait("quiet", now_s, min(limit_s, left_s), is_quiet, for_quiet=True)

    def spend(self, wait: Wait, now_s: float) -> None:
        """Count the time of a wait for quiet that ends now."""
        self._spent_s += now_s - wait.began_s

    def cooling(self, scheduled: ScheduledRound, now_s: float) -> Wait | None:
        """Return the wait for a cooler GPU before a case; None if it is cool enough."""
        below_c, device = self._rules.wait_below_c, scheduled.case.config.device
        if below_c is None or device == "cpu" or self._is_cool(scheduled, below_c):
            return None
        most_s = self._rules.wait_for_quiet_s or WAIT_FOR_QUIET_S
        what = f"a GPU below {below_c:g} °C, now at {max(self._temperatures_c(scheduled)):.0f} °C"
        return Wait(what, now_s, most_s, lambda: self._is_cool(scheduled, below_c))

    def _is_quiet(self, scheduled: ScheduledRound, seen: Environment, since_s: float) -> bool:
        """Return whether what disturbed a case has ended."""
        others = self._loads.others_percent(scheduled.node, since_s)
        if others is None or is_noisy(others, seen.processors, seen.idle_others_cpu_percent):
            return False
        if not gpu_sharers(seen):
            return True
        index = self._gpus.get((scheduled.node, scheduled.case.config.device))
        used = None if index is None else self._loads.gpu_percent(scheduled.node, index, since_s)
        return used is not None and used <= IDLE_GPU_PERCENT

    def _is_cool(self, scheduled: ScheduledRound, below_c: float) -> bool:
        return all(celsius < below_c for celsius in self._temperatures_c(scheduled))

    def _temperatures_c(self, scheduled: ScheduledRound) -> list[float]:
        """Return the readable temperature of the case's GPU, or of each one if unknown which it is."""
        index = self._gpus.get((scheduled.node, scheduled.case.config.device))
        gpus = [gpu.index for gpu in self._hosts[scheduled.node].gpus] if index is None else [index]
        readings = (self._loads.temperature_c(scheduled.node, gpu) for gpu in gpus)
        return [celsius for celsius in readings if celsius is not None]


class WaitBetweenTurns:
    """Wait before further rounds by turns, because the newest ones were disturbed."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._disturbed: tuple[ScheduledRound, Retry, Environment] | None = None
        """A disturbed one of the newest rounds by turns, how it would be repeated alone, its environment."""
        self._wait: Wait | None = None

    @property
    def going_on(self) -> bool:
        """Whether it has begun, and not ended yet."""
        return self._wait is not None

    def left_s(self, now_s: float) -> float | None:
        """Return the seconds until the next check; None while there is no wait."""
        return self._wait.left_s(now_s) if self._wait else None

    def note(self, scheduled: ScheduledRound, ended: CaseFinished, retry: Retry | None) -> None:
        """Remember a round by turns that was measured next to neighbors."""
        if retry and retry.quiet and ended.environment:
            self._disturbed = scheduled, retry, ended.environment

    def begin(self, now_s: float) -> Iterator[Message | Waiting]:
        """Begin to wait if the newest rounds by turns were disturbed, and if time for waits is left."""
        if self._disturbed is None:
            return
        scheduled, retry, seen = self._disturbed
        self._wait = self._waits.quiet(scheduled, seen, now_s)
        if self._wait:
            yield from self._wait.announced(scheduled, retry.reason)
        else:
            self._disturbed = None

    def end(self, now_s: float) -> Iterator[Message]:
        """End the wait if the machine is quiet, or the time for it is over."""
        wait, disturbed = self._wait, self._disturbed
        if wait is None or disturbed is None:
            return
        met = wait.is_met()
        if met or wait.is_over(now_s):
            self._waits.spend(wait, now_s)
            self._wait = self._disturbed = None
            if not met:
                yield wait.timed_out(disturbed[0], "measuring anyway", now_s)

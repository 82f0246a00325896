"""Waits: how long a case may wait for a quiet machine or a cooler GPU, and what ends the wait.

A case measured next to neighbors is repeated once the machine has been quiet for a moment. All waits for quiet
of an engine together take at most one limit and a quarter of the time since it started: a neighbor that never
leaves lengthens a sweep by no more than a third and one limit. A wait for a cooler GPU has only its own limit,
since the user asked for one before every case.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf

import msgspec

from benchtui.engine.executor import Node
from benchtui.engine.supervisor.case_queue import ScheduledRound
from benchtui.engine.supervisor.waits.machine_loads import QUIET_S, MachineLoads
from benchtui.sessions.events import CasePrepared, Message, Waiting
from benchtui.sessions.payloads import Environment
from benchtui.sessions.stats.disturbance import IDLE_GPU_PERCENT, gpu_sharers, is_noisy
from benchtui.sessions.sweep import Run
from benchtui.sessions.sweep.model import WAIT_FOR_QUIET_S

CHECK_S = 0.5
"""Seconds between two checks of what a case waits for. No more readings arrive."""
SHARE_OF_SESSION = 0.25
"""Share of the time since the engine started that all waits for quiet may take, beyond one limit."""


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
        what = f"a GPU below {below_c:g} °C, now at {self._temperature_c(scheduled):.0f} °C"
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
        return self._temperature_c(scheduled) < below_c

    def _temperature_c(self, scheduled: ScheduledRound) -> float:
        """Return the temperature of the case's GPU, or of the hottest if unknown so far; 0 if unreadable."""
        index = self._gpus.get((scheduled.node, scheduled.case.config.device))
        gpus = [gpu.index for gpu in self._hosts[scheduled.node].gpus] if index is None else [index]
        readings = (self._loads.temperature_c(scheduled.node, gpu) for gpu in gpus)
        return max((celsius for celsius in readings if celsius is not None), default=0.0)

"""Case queue: which case runs next, and on which node and device.

It depends on neither processes nor a clock. The scheduler reports the start and end of cases.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from benchtui.engine.executor import Node
from benchtui.engine.job import TurnOrder
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Outcome, Runtime
from benchtui.sessions.payloads import CaseRound, Host
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import (
    MOST_CASES,
    Case,
    Config,
    Sweep,
    cases,
    incompatible_reason,
    unsupported_reason,
)
from benchtui.sessions.sweep.case_order import Order
from benchtui.sessions.sweep.plan import missing_device_reason


class ScheduledRound(msgspec.Struct, frozen=True):
    """A case and its round, counted from 0."""

    case: Case
    round: int
    node: str | None = None
    """Node on which it runs; None for this machine."""
    turns: TurnOrder | None = None
    """Its turns with cases that are started right before or after it; None if it is measured alone."""


LOCAL_NODES = (Node(None, Host()),)


class Queue:
    """All cases of a sweep: pending, running or ended."""

    def __init__(self, sweep: Sweep, nodes: Sequence[Node] = LOCAL_NODES) -> None:
        self.nodes = list(nodes)
        """Nodes on which cases may run, without lost nodes."""
        self.cases = cases(sweep)
        """All cases, indexed by their number."""
        self.running: dict[int, ScheduledRound] = {}
        self.paused = False
        """Whether no case may start."""
        self._sweep = sweep
        self._runtimes: Mapping[str | None, Runtime] = {}
        """Torch runtime of each node, by node name."""
        self._pending = set(range(len(self.cases)))
        self._between_plans: set[int] = set()
        """Measured cases that wait until further rounds are planned, with ``rounds = "auto"``."""
        self._by_turns: tuple[int, ...] = ()
        """The cases of the newest plan if they take turns."""
        self._rounds_done: dict[int, int] = {}
        self._order = Order(range(len(self.cases)))
        self._oom_cases: list[Case] = []
        """Cases that ran out of memory."""

    def restore(self, session: Session) -> None:
        """Restore the queue from a recorded session. No case is running; the queue is not paused."""
        self.cases = [self._case(case.index, case.config) for case in session.cases]
        self._pending = {case.index for case in session.pending}
        self._rounds_done = {case.index: len(case.rounds) for case in session.cases if case.rounds}
        self._between_plans = {case.index for case in session.between_plans}
        self._order = Order(session.order, session.further_rounds)
        self._oom_cases = [self.cases[case.index] for case in session.cases if case.state == "oom"]
        plan = session.rounds_planned
        self._by_turns = plan.cases if plan and plan.by_turns else ()
        if not self._pending.issuperset(self._by_turns):  # the rounds of others have ended
            self.withdraw_further()

    @property
    def pending(self) -> list[Case]:
        """Pending cases, including those with further rounds, in the order in which they will start."""
        return [self.cases[index] for index in self._order.starting(self._pending, self._done)]

    @property
    def unended(self) -> list[Case]:
        """Pending cases, and measured ones that wait until further rounds are planned."""
        return [*self.pending, *(self.cases[index] for index in sorted(self._between_plans))]

    @property
    def between_plans(self) -> list[Case]:
        """Measured cases that wait until further rounds are planned."""
        return [self.cases[index] for index in sorted(self._between_plans)]

    @property
    def unmeasured(self) -> list[Case]:
        """Pending cases without a finished round."""
        return [case for case in self.pending if not self._done(case.index)]

    def can_plan(self, *, looks: bool) -> bool:
        """Return whether rounds may be planned: nothing is running, paused, or left of the last plan.

        With ``looks``, the order of first rounds is planned as well; otherwise they come first.
        """
        first = {index for index in self._pending if self._done(index) < self._sweep.measure.rounds}
        if self.running or self.paused or self._pending - first:
            return False
        return bool(self._between_plans or first) if looks else bool(self._between_plans) and not first

    def plan_further(self, indexes: Sequence[int], *, by_turns: bool = False) -> None:
        """Queue one further round of each of these measured cases, in this order, or by turns."""
        self._by_turns = tuple(indexes) if by_turns else ()
        self._between_plans.difference_update(indexes)
        self._pending.update(indexes)
        self._order.plan_further(indexes)

    def withdraw_further(self) -> None:
        """Remove further rounds that haven't started from the queue."""
        further = {index for index in self._pending if self._done(index) >= self._sweep.measure.rounds}
        self._pending -= further
        self._between_plans |= further

    def set_runtimes(self, runtimes: Mapping[str | None, Runtime]) -> None:
        """Set the torch runtimes. Cases start only on nodes whose runtime has their device or is unknown."""
        self._runtimes = runtimes

    def next(self) -> ScheduledRound | None:
        """Return the next case if it may start now, and mark it as running.

        A node runs one case at a time, unless the sweep is parallel: then one per GPU, while a case on the CPU
        runs alone. No case overtakes one that waits for exclusive use of a node. Cases that take turns
        start together.
        """
        if follower := self._next_by_turns():
            return follower
        busy = self._busy()
        free = [node for node in self.nodes if self._sweep.run.parallel or not busy[node.name]]
        for case in self.pending if free and not self.paused else ():
            device = case.config.device
            fitting = [node for node in free if self.fits(case, node)]
            for node in fitting:
                there = busy[node.name]
                if not there or (device not in there and "cpu" not in {device, *there}):
                    return self._start(case, node.name)
            if device == "cpu":
                free = [node for node in free if node not in fitting]
            if not free:
                break
        return None

    def fits(self, case: Case, node: Node) -> bool:
        """Return whether a node can run a case. An unknown torch runtime is assumed to have its device."""
        return node.matches(case.config.machine) and self._missing(case, node) is None

    def remove_node(self, name: str) -> None:
        """Remove a lost node. No further case starts there."""
        self.nodes = [node for node in self.nodes if node.name != name]

    def unplaceable_reason(self, case: Case) -> str | None:
        """Return why no node can run a case; None if one can."""
        matching = [node for node in self.nodes if node.matches(case.config.machine)]
        if not matching:
            return f"no node matches {case.config.machine}" if case.config.machine else "no node available"
        missing = [self._missing(case, node) for node in matching]
        return None if None in missing else missing[0]

    def requeue(self, index: int) -> bool:
        """Requeue a running case to repeat its round; return False if no node can run it."""
        scheduled = self.running[index]
        if self.unplaceable_reason(scheduled.case):
            return False
        del self.running[index]
        self._pending.add(index)
        return True

    def ended(self, index: int, outcome: Outcome) -> None:
        """End the round of a running case. If it was successful, the case waits for its next round."""
        scheduled = self.running.pop(index)
        if outcome == "ok":
            self._rounds_done[index] = scheduled.round + 1
            if scheduled.round + 1 < self._sweep.measure.rounds:
                self._pending.add(index)
            elif self._sweep.measure.rounds_auto:
                self._between_plans.add(index)
        elif outcome == "oom":
            self._oom_cases.append(scheduled.case)

    def add(self, config: Config, after: int | None = None) -> Case:
        """Add a pending case, after another one or at the end; raise BenchtuiError if the plan is full."""
        if len(self.cases) >= MOST_CASES:
            raise BenchtuiError(f"the plan is full: at most {MOST_CASES:,} cases are allowed")
        case = self._case(len(self.cases), config)
        self.cases.append(case)
        self._pending.add(case.index)
        self._order.add(case.index, after)
        return case

    def drop(self, indexes: Iterable[int]) -> list[Case]:
        """Remove cases that are neither running nor ended for good; raise BenchtuiError if one is."""
        dropped = [self.require_unended(index) for index in dict.fromkeys(indexes)]
        self._pending.difference_update(case.index for case in dropped)
        self._between_plans.difference_update(case.index for case in dropped)
        return dropped

    def rearrange(self, indexes: Sequence[int]) -> None:
        """Move pending cases to the front, in this order. Rounds still follow each other.

        Raises BenchtuiError if a case isn't pending.
        """
        first = [self.require_pending(index).index for index in indexes]
        rest = [case.index for case in self.pending if case.index not in set(first)]
        self._order.rearrange([*first, *rest], self._done)

    def as_large_as(self, index: int) -> list[Case]:
        """Return pending, unmeasured cases with equal options and sizes no smaller than this case's."""
        return [case for case in self.unmeasured if _is_no_larger(self.cases[index].config, case.config)]

    def smaller_oom_case(self, config: Config) -> Case | None:
        """Return a case that ran out of memory with equal options and sizes no larger than these."""
        return next((case for case in self._oom_cases if _is_no_larger(case.config, config)), None)

    def require(self, index: int) -> Case:
        """Return the case with this index; raise BenchtuiError if there is none."""
        if not 0 <= index < len(self.cases):
            raise BenchtuiError(f"no case {index + 1}; the sweep has {len(self.cases)} cases, numbered from 1")
        return self.cases[index]

    def require_pending(self, index: int) -> Case:
        """Return the pending case with this index; raise BenchtuiError if it isn't pending."""
        case = self.require(index)
        if index not in self._pending:
            state = (
                "is running"
                if index in self.running
                else "is measured"
                if index in self._between_plans
                else "has ended"
            )
            raise BenchtuiError(f"case {index + 1} {state}; only pending cases can be dropped or moved")
        return case

    def require_unended(self, index: int) -> Case:
        """Return the case with this index; raise BenchtuiError if it is running or has ended."""
        return self.cases[index] if index in self._between_plans else self.require_pending(index)

    def has_ended(self, index: int) -> bool:
        """Return whether a case is neither waiting nor running; raise BenchtuiError if there is none."""
        return not (self.require(index).index in self._pending | self._between_plans or index in self.running)

    def is_measured(self, index: int) -> bool:
        """Return whether a case has ended or waits until further rounds are planned."""
        return index in self._between_plans or self.has_ended(index)

    def _case(self, index: int, config: Config) -> Case:
        return Case(index, config, unsupported_reason(config) or incompatible_reason(config, self._sweep))

    def _next_by_turns(self) -> ScheduledRound | None:
        """Return the next of the cases that take turns if all before it have just started, and mark it."""
        begun = [self.running[index] for index in self._by_turns if index in self.running]
        turns = begun[0].turns if begun else None
        if turns is None or len(begun) == len(turns.rounds):
            return None
        case = self.cases[turns.rounds[len(begun)].case]
        if case.index not in self._pending:
            return None
        return self._start(case, begun[0].node, replace(turns, place=len(begun)))

    def _start(self, case: Case, node: str | None, turns: TurnOrder | None = None) -> ScheduledRound:
        """Mark a case as running. ``turns`` are those with cases that have been started."""
        if case.index in self._by_turns and self._pending.issuperset(self._by_turns):
            order = [case.index, *(index for index in self._by_turns if index != case.index)]
            rounds = tuple(CaseRound(case=index, round=self._done(index)) for index in order)
            turns = TurnOrder(rounds=rounds, place=0)
        self._pending.remove(case.index)
        scheduled = ScheduledRound(case, self._done(case.index), node, turns)
        self.running[case.index] = scheduled
        return scheduled

    def _busy(self) -> dict[str | None, set[str]]:
        """Return the devices that are in use, by node."""
        busy = defaultdict[str | None, set[str]](set)
        for scheduled in self.running.values():
            busy[scheduled.node].add(scheduled.case.config.device)
        return busy

    def _missing(self, case: Case, node: Node) -> str | None:
        """Return why a node lacks the device of a case; None if it has it or its torch runtime is unknown."""
        device, runtime = case.config.device, self._runtimes.get(node.name)
        if device == "cpu" or runtime is None:
            return None
        count = len(runtime.cuda_devices)
        if int(device.removeprefix("cuda:")) < count:
            return None
        build = (
            "was built without CUDA"
            if runtime.cuda is None and runtime.hip is None
            else f"sees {count} CUDA device{'' if count == 1 else 's'}"
        )
        return missing_device_reason(device, node.name or "this machine", f"torch {runtime.torch} {build}")

    def _done(self, index: int) -> int:
        return self._rounds_done.get(index, 0)


def _is_no_larger(small: Config, large: Config) -> bool:
    """Return whether two cases differ only in size, and no size of the second is smaller."""
    sizes = small.batch_size <= large.batch_size and small.sequence_length <= large.sequence_length
    return sizes and small.without_sizes == large.without_sizes

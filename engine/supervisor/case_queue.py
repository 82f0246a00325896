"""The queue of a sweep's cases: which are pending, in what order, and which may start where, beside what runs.

It knows no process and no clock: what happens to cases is told to it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from benchtui.engine.executor import Node
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Outcome, Runtime
from benchtui.sessions.payloads import Host
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


@dataclass(frozen=True, slots=True)
class ScheduledRound:
    """A case in one of its rounds, counted from 0."""

    case: Case
    round: int
    node: str | None = None
    """Where it runs; None for this machine."""


HERE = (Node(None, Host()),)


class Queue:
    """Every case of a sweep: pending, running, or ended."""

    def __init__(self, sweep: Sweep, nodes: Sequence[Node] = HERE) -> None:
        self.nodes = list(nodes)
        """Where cases may run, without the nodes that were lost."""
        self.cases = cases(sweep)
        """All cases, each at the place of its number."""
        self.running: dict[int, ScheduledRound] = {}
        self.paused = False
        """Whether no case may start."""
        self._sweep = sweep
        self._runtimes: Mapping[str | None, Runtime] = {}
        """What torch said of each node."""
        self._pending = set(range(len(self.cases)))
        self._rounds_done: dict[int, int] = {}
        self._order = Order(range(len(self.cases)))
        self._ran_out: list[Case] = []
        """The cases that ran out of memory."""

    def take_up(self, session: Session) -> None:
        """Stand as a recorded session left its queue; nothing runs, and nothing is paused."""
        self.cases = [self._case(case.index, case.config) for case in session.cases]
        self._pending = {case.index for case in session.pending}
        self._rounds_done = {case.index: len(case.rounds) for case in session.cases if case.rounds}
        self._order = Order(session.order)
        self._ran_out = [self.cases[case.index] for case in session.cases if case.state == "oom"]

    @property
    def pending(self) -> list[Case]:
        """The cases that are still to start, further rounds included, as they start."""
        return [self.cases[index] for index in self._order.starting(self._pending, self._done)]

    def know(self, runtimes: Mapping[str | None, Runtime]) -> None:
        """Start cases only where torch has their device, as far as it has told."""
        self._runtimes = runtimes

    def next(self) -> ScheduledRound | None:
        """The next case if it may start now; it counts as running from here on.

        On each node one after another, unless the sweep is parallel: then one on each GPU, and one on the
        processor alone. Nothing overtakes a case that waits for a node to itself.
        """
        busy = self._busy()
        free = [node for node in self.nodes if self._sweep.run.parallel or not busy[node.name]]
        for case in self.pending if free and not self.paused else ():
            device = case.config.device
            fitting = [node for node in free if self.fits(case, node)]
            for node in fitting:
                there = busy[node.name]
                if not there or (device not in there and "cpu" not in {device, *there}):
                    return self._start(case, node)
            if device == "cpu":
                free = [node for node in free if node not in fitting]
            if not free:
                break
        return None

    def fits(self, case: Case, node: Node) -> bool:
        """Whether a node can run a case, as far as torch has told."""
        return node.answers(case.config.machine) and self._missing(case, node) is None

    def leave(self, name: str) -> None:
        """A node is lost: nothing more starts there."""
        self.nodes = [node for node in self.nodes if node.name != name]

    def nowhere(self, case: Case) -> str | None:
        """Why no node can run a case, or None where one can."""
        asked = [node for node in self.nodes if node.answers(case.config.machine)]
        if not asked:
            return f"no node of {case.config.machine}" if case.config.machine else "no node"
        missing = [self._missing(case, node) for node in asked]
        return None if None in missing else missing[0]

    def again(self, index: int) -> bool:
        """Let a running case begin its round anew, elsewhere; gives whether there is a node for it."""
        turn = self.running[index]
        if self.nowhere(turn.case):
            return False
        del self.running[index]
        self._pending.add(index)
        return True

    def ended(self, index: int, outcome: Outcome) -> None:
        """A running case has come to the end of its round; after a good one it waits for the next."""
        turn = self.running.pop(index)
        if outcome == "ok":
            self._rounds_done[index] = turn.round + 1
            if turn.round + 1 < self._sweep.measure.rounds:
                self._pending.add(index)
        elif outcome == "oom":
            self._ran_out.append(turn.case)

    def plan(self, config: Config, after: int | None = None) -> Case:
        """A new pending case, behind another one or at the end; raises BenchtuiError where the plan is full."""
        if len(self.cases) >= MOST_CASES:
            raise BenchtuiError(f"the plan is full: at most {MOST_CASES:,} cases are allowed")
        case = self._case(len(self.cases), config)
        self.cases.append(case)
        self._pending.add(case.index)
        self._order.add(case.index, after)
        return case

    def drop(self, indexes: Iterable[int]) -> list[Case]:
        """Take pending cases out of the queue, for good; raises BenchtuiError for one that isn't pending."""
        dropped = [self.require_pending(index) for index in dict.fromkeys(indexes)]
        self._pending.difference_update(case.index for case in dropped)
        return dropped

    def rearrange(self, indexes: Sequence[int]) -> None:
        """Let these pending cases start first, in this order; rounds still follow each other.

        Raises:
            BenchtuiError: for a case that isn't pending.
        """
        first = [self.require_pending(index).index for index in indexes]
        rest = [case.index for case in self.pending if case.index not in set(first)]
        self._order.rearrange([*first, *rest], self._done)

    def as_large_as(self, index: int) -> list[Case]:
        """Pending cases, never measured, with all else equal and neither size smaller than this case's."""
        fresh = (case for case in self.pending if not self._done(case.index))
        return [case for case in fresh if _fits_into(self.cases[index].config, case.config)]

    def too_large(self) -> Iterator[tuple[Case, Case]]:
        """Pending cases, never measured, each with one of its family that ran out of memory, no larger."""
        families: dict[Config, list[Case]] = {}
        for case in self._ran_out:
            families.setdefault(_sizeless(case.config), []).append(case)
        for case in (each for each in self.pending if not self._done(each.index)):
            for smaller in families.get(_sizeless(case.config), ()):
                if _fits_into(smaller.config, case.config):
                    yield case, smaller

    def ran_out_below(self, config: Config) -> Case | None:
        """A case that ran out of memory with all else equal and no larger batch size and sequence length."""
        return next((case for case in self._ran_out if _fits_into(case.config, config)), None)

    def require(self, index: int) -> Case:
        """The case of this number; raises BenchtuiError where there is none."""
        if not 0 <= index < len(self.cases):
            raise BenchtuiError(f"no case {index}; they are numbered from 0 to {len(self.cases) - 1}")
        return self.cases[index]

    def require_pending(self, index: int) -> Case:
        """The pending case of this number; raises BenchtuiError where it isn't pending."""
        case = self.require(index)
        if index not in self._pending:
            state = "is running" if index in self.running else "has ended"
            raise BenchtuiError(f"case {index} {state}; only a pending one can be dropped or moved")
        return case

    def has_ended(self, index: int) -> bool:
        """Whether a case is neither pending nor running; raises BenchtuiError where there is none."""
        return self.require(index).index not in self._pending and index not in self.running

    def _case(self, index: int, config: Config) -> Case:
        return Case(index, config, unsupported_reason(config) or incompatible_reason(config, self._sweep))

    def _start(self, case: Case, node: Node) -> ScheduledRound:
        self._pending.remove(case.index)
        turn = self.running[case.index] = ScheduledRound(case, self._done(case.index), node.name)
        return turn

    def _busy(self) -> dict[str | None, set[str]]:
        """The devices at which cases are at work, by node."""
        busy: dict[str | None, set[str]] = {node.name: set() for node in self.nodes}
        for turn in self.running.values():
            busy.setdefault(turn.node, set()).add(turn.case.config.device)
        return busy

    def _missing(self, case: Case, node: Node) -> str | None:
        """Why a case's device can't be had on a node, or None when it can or torch didn't say."""
        device, runtime = case.config.device, self._runtimes.get(node.name)
        if device == "cpu" or runtime is None:
            return None
        count = len(runtime.cuda_devices)
        if int(device.removeprefix("cuda:")) < count:
            return None
        build = "is a build without CUDA" if runtime.cuda is None else f"sees {count} CUDA devices"
        return f"no {device} on {node.name or 'this machine'}: torch {runtime.torch} {build}"

    def _done(self, index: int) -> int:
        return self._rounds_done.get(index, 0)


def _sizeless(config: Config) -> Config:
    """What a case has in common with those of other sizes."""
    return replace(config, batch_size=1, sequence_length=1, repeat=0)


def _fits_into(small: Config, large: Config) -> bool:
    """Whether two cases differ in nothing but sizes, and the second has none that is smaller."""
    same = replace(
        small, batch_size=large.batch_size, sequence_length=large.sequence_length, repeat=large.repeat
    )
    sizes = small.batch_size <= large.batch_size and small.sequence_length <= large.sequence_length
    return same == large and sizes

"""Scheduler: which cases are running, which are next, and what follows from the end of each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from benchtui.engine.executor import NODE_LOST_PREFIX, Node
from benchtui.engine.files.versions import FileVersions
from benchtui.engine.supervisor.answer_baselines import AnswerBaselines
from benchtui.engine.supervisor.batch_size_search import (
    ENDS_PREFIX,
    BatchSizeSearches,
    NextSize,
    PendingSearchStep,
    SearchResult,
)
from benchtui.engine.supervisor.case_queue import Queue
from benchtui.engine.supervisor.rounds.execution import Launch, RoundRun
from benchtui.engine.supervisor.rounds.further import FurtherPlan, FurtherRounds
from benchtui.engine.supervisor.rounds.policy import Retry, Rounds
from benchtui.engine.supervisor.session_writer import SessionLog
from benchtui.engine.supervisor.waits import MachineLoads, WaitBetweenTurns, Waits
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    AnyEvent,
    CaseAdded,
    CaseFinished,
    CasePrepared,
    NodeLost,
    OrderChanged,
    Outcome,
    Runtime,
)
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Baseline, Case, Config, Sweep

LOST_RETRIES = 2
"""Maximum reruns of a case whose node was lost. Limited because the case itself may bring nodes down."""


class Scheduler:
    """Starts cases as the queue permits, and records their events."""

    def __init__(
        self,
        sweep: Sweep,
        nodes: Sequence[Node],
        log: SessionLog,
        launch: Launch,
        rounds: Rounds,
        loads: MachineLoads,
    ) -> None:
        self.queue = Queue(sweep, nodes)
        self.log = log
        self.stopping: str | None = None
        """Why the sweep ends early; None if it doesn't."""
        self._runs: dict[int, RoundRun] = {}
        self._launch = launch
        self._rounds = rounds
        self._waits = Waits(sweep.run, nodes, loads, log.now_s(), sweep.ends_s)
        self._between_turns = WaitBetweenTurns(self._waits)
        self.answer_baselines = AnswerBaselines(sweep)
        self.files = FileVersions(sweep)
        self._searches = BatchSizeSearches(sweep, self.queue, [node.host for node in nodes])
        self._sweep = sweep
        self._further = FurtherRounds(log) if sweep.measure.rounds_auto else None
        self._node_losses: Counter[int] = Counter()
        """Number of nodes lost while running each case."""
        self._node_retries: dict[int, Retry] = {}
        """Reasons for repeating the round of cases that wait for another node."""
        self._pending_steps: list[PendingSearchStep] = []
        """Search steps still to be applied, because the interrupted session file lacks them."""
        self._pending_skips: list[tuple[Case, Case]] = []
        """Cases still to be skipped, each with the smaller case that ran out of memory, because the file lacks
        these skips."""

    def restore(self, session: Session, record: Iterable[AnyRecord]) -> None:
        """Restore the state of a recorded session. Both arguments include the resume event."""
        self.queue.restore(session)
        self._rounds.restore(session)
        self.answer_baselines.restore(session)
        self.files.restore(session.cases)
        self._pending_steps = self._searches.replay_record(record)
        self._pending_skips = [
            (case, self.queue.cases[smaller.index])
            for smaller in session.cases
            if smaller.state == "oom"
            for case in self.queue.as_large_as(smaller.index)
            if not _added_since(session.cases[case.index], smaller)
        ]

    @property
    def sources(self) -> list[int]:
        """File descriptors that become readable when there is something to collect."""
        return [source for run in self._runs.values() for source in run.sources]

    @property
    def left_s(self) -> float | None:
        """Seconds until ``advance`` must be called even if no source is readable; None if nothing is due."""
        now_s = self.log.now_s()
        lefts_s = [run.left_s(now_s) for run in self._runs.values()]
        wait_s = self._between_turns.left_s(now_s)
        return min(lefts_s if wait_s is None else (*lefts_s, wait_s), default=None)

    def begin(self, runtimes: Mapping[str | None, Runtime]) -> None:
        """Prepare the queue before the first case runs, based on the known torch runtimes.

        Skip cases that no node can run, add the repeats on each node, and apply the skips and search steps that
        an interrupted session file lacks.
        """
        if self._further:
            self._further.begin()
        self.queue.set_runtimes(runtimes)
        self._skip_unrunnable(self.queue.pending)
        self._repeat_on_each()
        for case, smaller in self._pending_skips:
            self._skip(case, smaller)
        for pending in self._pending_steps:
            self._apply_step(pending.case, pending.step)

    def advance(self) -> bool:
        """Collect events and start cases; return False once the sweep is over.

        A paused sweep is never over: cases may still be added to it.
        """
        for run in list(self._runs.values()):
            self._collect(run)
        if self.stopping:
            self.end_pending(self.queue.unended, "interrupted", self.stopping)
        self._plan_rounds()
        self._start_cases()
        while self._plan_rounds():
            self._start_cases()
        going_on = self.queue.paused or self._between_turns.going_on
        return bool(self._runs or self.queue.pending or (going_on and not self.stopping))

    def _start_cases(self) -> None:
        if self._further and self._further.budget_is_spent:
            self.queue.withdraw_further()
        while scheduled := self.queue.next():
            retry = self._node_retries.pop(scheduled.case.index, None)
            run = RoundRun(scheduled, self._launch, self._rounds, self._waits, retry)
            self._runs[scheduled.case.index] = run
            self._collect(run)

    def _plan_rounds(self) -> bool:
        """Queue the rounds that decide the most, or end the cases if there are none.

        Return whether rounds are queued that weren't, or in another order.
        """
        if not self._further or self.stopping:
            return False
        self._write(self._between_turns.end(self.log.now_s()))
        looks = self._sweep.find is not None
        if self._between_turns.going_on or not self.queue.can_plan(looks=looks):
            return False
        plan = self._further.plan(self.queue.unmeasured, self.queue.between_plans)
        for index, reason in plan.dropped:
            self.end_pending([self.queue.cases[index]], "skipped", reason)
        if plan.looks:
            if [case.index for case in self.queue.pending][: len(plan.looks)] != list(plan.looks):
                self.rearrange(plan.looks)
            return True
        if plan.event.by_turns and self._begins_wait():
            return False
        self.log.write(plan.event)
        self.queue.plan_further(plan.event.cases, by_turns=plan.event.by_turns)
        if not plan.event.cases:
            self._end_measured(plan)
        return bool(plan.event.cases)

    def _begins_wait(self) -> bool:
        """Begin to wait for quiet if the newest rounds by turns were disturbed; return whether it goes on."""
        self._write(self._between_turns.begin(self.log.now_s()))
        return self._between_turns.going_on

    def _end_measured(self, plan: FurtherPlan) -> None:
        """End the measured cases with the rounds that they have, and say why."""
        for line in plan.summary:
            self.log.write_message(line)
        for case in self.queue.drop([case.index for case in self.queue.between_plans]):
            self.log.write(self._rounds.end(case.index, plan.reason(case.index), self.log.now_s()))

    def rearrange(self, cases: Sequence[int]) -> None:
        """Let the first rounds of these cases start next, in this order. Raises BenchtuiError."""
        self.queue.rearrange(cases)
        order = tuple(case.index for case in self.queue.pending)
        self.log.write(OrderChanged(t=self.log.now_s(), cases=order))

    def stop(self, reason: str) -> None:
        """End the running cases and the sweep."""
        self.stopping = reason
        for index in self._runs:
            self.end(index, "interrupted", reason)

    def require_not_stopping(self) -> None:
        """Raise BenchtuiError if the sweep is stopping, so that commands no longer apply."""
        if self.stopping:
            raise BenchtuiError(f"the sweep is stopping: {self.stopping}")

    def abandon(self) -> None:
        """Kill running cases without recording it, because the session file can no longer be written."""
        for index in self._runs:
            self.end(index, "interrupted", "the engine failed")

    def on_node_lost(self, event: NodeLost) -> None:
        """Record a lost node and end pending cases that only it could run. Its running cases end later."""
        self.log.write(event)
        self.queue.remove_node(event.node)
        left_over = [(case, why) for case in self.queue.unended if (why := self.queue.unplaceable_reason(case))]
        for case, why in left_over:
            self.end_pending(
                [case], "interrupted", f"{why} after the loss of node {event.node}: {event.reason}"
            )

    def end(self, index: int, outcome: Outcome, reason: str) -> None:
        """End a running case."""
        self._runs[index].end(outcome, reason, self.log.now_s())

    def end_pending(self, cases: Iterable[Case], outcome: Outcome, reason: str) -> None:
        """End cases that aren't running, without running them. A skipped one keeps its finished rounds."""
        for case in self.queue.drop([case.index for case in cases]):
            now_s = self.log.now_s()
            if outcome == "skipped" and self._rounds.can_end(case.index):
                self.log.write(self._rounds.end(case.index, reason, now_s))
                continue
            end = CaseFinished(t=now_s, case=case.index, outcome=outcome, reason=reason)
            self.log.write(end)
            self._continue_search(end)

    def add(self, config: Config, why: str, of: int | None = None) -> Case:
        """Add a case at the end; raise BenchtuiError if the plan is full."""
        case = self._append_case(config, why, of=of)
        self._skip_unrunnable([case])
        return case

    def _write(self, events: Iterable[AnyEvent]) -> None:
        for event in events:
            self.log.write(event)

    def _collect(self, run: RoundRun) -> None:
        for event in run.collect(self.log.now_s()):
            self.log.write(event)
            self._searches.apply(event)
            if isinstance(event, CasePrepared) and (
                warning := self.files.prepare(event, run.scheduled.case.config)
            ):
                self.log.write_message(warning, "warning")
        if run.ended:
            self._finish_round(run, run.ended)

    def _finish_round(self, run: RoundRun, reported: CaseFinished) -> None:
        del self._runs[reported.case]
        end = self._handle_node_loss(self.files.end(reported))
        if end is None:
            return
        if run.scheduled.turns:
            self._between_turns.note(run.scheduled, end, self._rounds.retry(end, 0))
        record = self._rounds.ended(end, run.scheduled.round)
        self.log.write(record)
        if end.outcome == "ok":
            self.answer_baselines.add(end.case, run.scheduled.case.config)
        self.queue.ended(end.case, end.outcome)
        if end.outcome == "oom":
            for case in self.queue.as_large_as(end.case):
                self._skip(case, run.scheduled.case)
        if not self.stopping:
            self._continue_search(end)

    def _repeat_on_each(self) -> None:
        """Add one case for each node if several share the sweep, to measure the differences between nodes."""
        names = [node.name for node in self.queue.nodes if node.name]
        sharing = self._sweep.run.repeat_on_each and self._sweep.axes.machine == ("",) and len(names) > 1
        first = self._first_shared() if sharing else None
        if first is None:
            return
        done = {case.config.machine for case in self.queue.cases}
        for name in reversed(names):
            if name not in done:
                config, index = replace(first.config, machine=name), first.index
                self._skip_unrunnable([self._append_case(config, "on each node", of=index, after=index)])

    def _first_shared(self) -> Case | None:
        """Return the baseline case, or else the first case, among those that any node may run."""
        shared = [
            case for case in self.queue.cases if not (case.skip or case.config.machine or case.config.repeat)
        ]
        baseline = self._sweep.measure.baseline or Baseline()
        return next((case for case in shared if baseline.matches(case.config)), next(iter(shared), None))

    def _handle_node_loss(self, end: CaseFinished) -> CaseFinished | None:
        """Return the end of a case, or None if its node was lost and the case is repeated on another node.

        If there is no other node or the sweep is stopping, the case is interrupted and can be resumed.
        """
        if not (end.reason or "").startswith(NODE_LOST_PREFIX):
            return end
        self._node_losses[end.case] += 1
        repeated = self._sweep.run.lost == "repeat" and self._node_losses[end.case] <= LOST_RETRIES
        if not (repeated or self.stopping):
            return end
        if self.stopping or not self.queue.requeue(end.case):
            return replace(end, outcome="interrupted")
        self._node_retries[end.case] = Retry(end.reason or "", 0.0)
        return None

    def _skip(self, case: Case, smaller: Case) -> None:
        """Skip a pending case that is no smaller than one that ran out of memory, unless it has ended."""
        if not self.queue.has_ended(case.index):
            sizes = {(config.batch_size, config.sequence_length) for config in (case.config, smaller.config)}
            size = "as large as" if len(sizes) == 1 else "larger than"
            self.end_pending([case], "skipped", f"{size} case {smaller.index + 1}, which ran out of memory")

    def _continue_search(self, end: CaseFinished) -> None:
        self._apply_step(end.case, self._searches.ended(end))

    def _apply_step(self, index: int, step: NextSize | SearchResult | None) -> None:
        match step:
            case SearchResult(text):
                self.log.write_message(text)
            case NextSize(size, why):
                self._try_size(index, size, why)

    def _try_size(self, before: int, size: int, why: str) -> None:
        config = replace(self.queue.cases[before].config, batch_size=size)
        try:
            case = self._append_case(config, why, after=before)
        except BenchtuiError as error:
            self.log.write_message(f"{ENDS_PREFIX}{config.family} ends: {error}", "warning")
            return
        self._searches.add(case)
        self._skip_unrunnable([case])

    def _append_case(self, config: Config, why: str, of: int | None = None, after: int | None = None) -> Case:
        case = self.queue.add(config, after)
        added = CaseAdded(t=self.log.now_s(), case=case.index, config=config, why=why, of=of, after=after)
        self.log.write(added)
        return case

    def _skip_unrunnable(self, cases: Iterable[Case]) -> None:
        """Skip cases that no node can run or whose options are invalid everywhere."""
        for case in cases:
            if reason := case.skip or self.queue.unplaceable_reason(case):
                self.end_pending([case], "skipped", reason)


def _added_since(case: CaseState, smaller: CaseState) -> bool:
    """Return whether a case was added even though a smaller one had run out of memory."""
    return case.added is not None and smaller.finished is not None and case.added.t > smaller.finished.t

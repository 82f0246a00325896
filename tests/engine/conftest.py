"""A sweep on its way with executions that are played, so that a test decides when each case ends, and how."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchtui.engine.control import ResumeOptions
from benchtui.engine.executor import Execution, Node
from benchtui.engine.job import WorkerEvent
from benchtui.engine.supervisor.case_queue import ScheduledRound
from benchtui.engine.supervisor.resume import ResumableSession
from benchtui.engine.supervisor.rounds.policy import Rounds
from benchtui.engine.supervisor.scheduler import Scheduler
from benchtui.engine.supervisor.session_writer import SessionLog
from benchtui.engine.supervisor.waits import MachineLoads
from benchtui.sessions.events import CaseFinished, CasePrepared, NodeJoined, Outcome, SessionStarted, Steps
from benchtui.sessions.journal.reader import Tail
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host, Memory, Model
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Config, Sweep


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    """Let the compiler begin each test as it begins each case: without graphs, and with counters at zero."""
    if compiler := sys.modules.get("torch._dynamo"):
        compiler.reset()
        compiler.utils.counters.clear()


class Played:
    """A case without a process: it goes on until the test, or the engine, ends it."""

    pid: int | None = None
    left_s = 3600.0

    def __init__(self, turn: ScheduledRound) -> None:
        self.sources: list[int] = []
        self._index, self._round = turn.case.index, turn.round
        self._events: list[WorkerEvent] = []

    def finish(
        self,
        outcome: Outcome = "ok",
        *,
        step_ms: float = 1.0,
        ended_s: float = 2.0,
        files: dict[str, str] | None = None,
        gpu_uuid: str | None = None,
        **fields: Any,
    ) -> None:
        """Let the case have measured 20 steps and come to its end."""
        model = Model(name="m")
        self._events = [
            CasePrepared(t=1.0, case=self._index, model=model, files=files or {}, gpu_uuid=gpu_uuid),
            Steps(t=1.0, case=self._index, phase="warmup", round=self._round, wall_ms=[99.0]),
            Steps(t=1.0, case=self._index, phase="measure", round=self._round, wall_ms=[step_ms] * 20),
            CaseFinished(t=ended_s, case=self._index, outcome=outcome, **fields),
        ]

    def collect(self, now_s: float) -> Iterator[WorkerEvent]:
        events, self._events = self._events, []
        yield from events

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        self._events = [CaseFinished(t=now_s, case=self._index, outcome=outcome, reason=reason)]


class Stage:
    """A course over played cases, and the fold of its record."""

    def __init__(
        self,
        sweep: Sweep,
        path: Path,
        host: Host,
        left: ResumableSession | None = None,
        nodes: Sequence[Node] = (),
    ) -> None:
        self.played: dict[int, Played] = {}
        """The newest execution of each case."""
        self.path = path
        self.log = SessionLog(left.journal, left.session.now_s) if left else SessionLog(Journal(path))
        nodes = nodes or (Node(None, host),)
        self.loads = MachineLoads()
        rounds = Rounds(sweep.measure, wait_for_quiet=bool(sweep.run.wait_for_quiet_s))
        self.scheduler = Scheduler(sweep, nodes, self.log, self._launch, rounds, self.loads)
        self._cut = False
        if left:
            event = left.resumed(host)
            self.scheduler.restore(left.session, left.record())
            self.log.write(event)
        self._tail = Tail(path)
        self.session = Session()

    def join(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            t = self.log.now_s()
            joined = NodeJoined(t=t, node=str(node.name), host=Host(), kind=node.kind, clock_offset_s=0.0)
            self.log.write(joined)

    def _launch(self, turn: ScheduledRound) -> Execution:
        played = self.played[turn.case.index] = Played(turn)
        return played

    @property
    def running(self) -> list[int]:
        return list(self.scheduler.queue.running)

    @property
    def pending(self) -> list[int]:
        return [case.index for case in self.scheduler.queue.pending]

    def finish(self, index: int, outcome: Outcome = "ok", **fields: Any) -> bool:
        """End a case, and let what follows start; False once the sweep is over."""
        self.played[index].finish(outcome, **fields)
        return self.scheduler.advance()

    def finish_all(self, outcome: Callable[[Config], tuple[Outcome, dict[str, Any]]]) -> None:
        """Run to the end, each case as this says."""
        for _ in range(1000):
            if not self.running:
                return
            index = self.running[0]
            ended, fields = outcome(self.scheduler.queue.cases[index].config)
            self.finish(index, ended, **fields)
        raise AssertionError("the sweep never ends")

    def told(self) -> Session:
        """The fold of all that was written, checked against the queue it tells of."""
        for event in self._tail.read():
            self.session.apply(event)
        assert [case.index for case in self.session.pending] == self.pending
        assert sorted(case.index for case in self.session.running) == sorted(self.running)
        assert [case.config for case in self.session.cases] == [
            each.config for each in self.scheduler.queue.cases
        ]
        assert self.session.paused == self.scheduler.queue.paused
        return self.session

    def cut(self) -> Path:
        """Let go of the file, as the end of the engine's process would."""
        if not self._cut:
            self.log.close()
        self._cut = True
        return self.path

    def close(self) -> None:
        self.cut()
        self._tail.close()

    def outcomes(self) -> dict[int, tuple[str, str | None]]:
        """Outcome and reason of the cases that have ended."""
        ended = (case.finished for case in self.told().cases if case.finished)
        return {end.case: (end.outcome, end.reason) for end in ended}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Begin a sweep of these axes; further entries are those of the sweep."""
    made: list[Stage] = []

    def begin(
        host: Host | None = None,
        runtime: Any = None,
        axes: Axes | None = None,
        nodes: Sequence[Node] = (),
        **entries: Any,
    ) -> Stage:
        sweep = Sweep(name="s", model="m", axes=axes or Axes(batch_size=(1, 2, 3)), **entries)
        host = host or Host(absent={"rapl": "none"})
        stage = Stage(sweep, tmp_path / f"{len(made)}.json", host, nodes=nodes)
        made.append(stage)
        plan = tuple(case.config for case in stage.scheduler.queue.cases)
        stage.log.write(SessionStarted(t=0.0, id="x", created="", sweep=sweep, plan=plan, host=Host()))
        stage.join(nodes)
        stage.scheduler.begin({None: runtime} if runtime else {})
        stage.scheduler.advance()
        return stage

    yield begin
    for each in made:
        each.close()


@pytest.fixture
def resume() -> Iterator[Callable[..., Stage]]:
    """Go on with a sweep whose record lies at this path."""
    made: list[Stage] = []

    def go_on(path: Path, nodes: Sequence[Node] = (), **how: bool) -> Stage:
        left = ResumableSession(path, ResumeOptions(anyway=True, **how))
        stage = Stage(left.session.start.sweep, path, Host(absent={"rapl": "none"}), left, nodes)
        made.append(stage)
        stage.join(nodes)
        stage.scheduler.begin({})
        stage.scheduler.advance()
        return stage

    yield go_on
    for each in made:
        each.close()


def memory(mb: float) -> dict[str, Any]:
    """What a case on a processor ends with."""
    return {"memory": Memory(peak_rss_mb=mb)}

"""Explanation of a recorded session's cases, on the same machine. Profiles are appended to the session."""

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from benchtui.engine.control import ExplainMessage, ExplainOptions
from benchtui.engine.event_loop import EventLoop
from benchtui.engine.executor import Execution, Executor, ExecutorContext
from benchtui.engine.files.versions import file_changes
from benchtui.engine.job import Job
from benchtui.engine.node.protocol import OpenNode
from benchtui.engine.supervisor.explain.queue import Explanations
from benchtui.engine.supervisor.resume import enter_folder, read_for, require_permission
from benchtui.engine.supervisor.session_writer import cut_long_texts, mask_secrets
from benchtui.sessions.compare.environment_diff import changes
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Explained
from benchtui.sessions.explain.selection import require_explainable
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep_secrets import Secrets
from benchtui.sessions.version import VERSION

Emit = Callable[[ExplainMessage], None]


class RecordedExplanations:
    """Cases of a recorded session, profiled on the machine that measured them."""

    def __init__(self, path: Path, options: ExplainOptions, executor: Executor, emit: Emit) -> None:
        """Read the session and lock its file. ``emit`` receives the progress.

        Raises BenchtuiError if it can't be read or written, a case can't be explained, or the machine or the
        software has changed and ``anyway`` isn't set.
        """
        self._options = options
        self._executor = executor
        self._emit = emit
        self._journal = Journal(path, resumed=True)
        try:
            self._session = read_for("explain", path)
            enter_folder(self._session)
            cases = [require_explainable(self._session, index) for index in options.cases]
            self._require_here(path, cases)
            self._changed = self._changes(path)
            self._require_same_files(path, cases)
            require_permission(self._session, options.consent)
            secrets = Secrets(environment=os.environ)
            secrets.restore(self._session.start.sweep, (case.config for case in cases), "explain")
            self._secrets = secrets
        except BenchtuiError:
            self._journal.close()
            raise
        self._sweep = self._secrets.revealed(self._session.start.sweep)
        self._zero_s = monotonic() - self._session.now_s
        trace = Path(options.trace)
        self._new_trace = str(trace.with_name(f".new-{trace.name}")) if options.trace else ""
        """File for the trace of each process, until one fits better than those before."""
        self._queue = Explanations(self._launch, self._keep_trace)
        self._queue.add(cases)
        self._stopped = False

    def run(self) -> None:
        """Profile the cases one after another, and append each profile."""
        loop = EventLoop()
        loop.catch_signals(self._stop)
        sweep = self._sweep
        try:
            settings = OpenNode(zero_s=self._zero_s, env=sweep.env, dataset=sweep.dataset)
            self._executor.open(ExecutorContext(settings, loop, lambda event: None))  # it has no telemetry
            while self._advance():
                loop.wait(self._queue.sources, self._queue.left_s)
        finally:
            self._executor.close()
            if self._new_trace:
                Path(self._new_trace).unlink(missing_ok=True)
            self._journal.complete()
            self._journal.close()

    def _advance(self) -> bool:
        now_s = self._now_s()
        for event in (*self._queue.collect(now_s), *self._queue.start_next(now_s)):
            self._append(event)
        return self._queue.running is not None

    def _append(self, event: Explained) -> None:
        """Append a profile with the session's last time, because profiling doesn't extend the session time."""
        event = replace(event, t=self._session.now_s, changed=(*self._changed, *event.changed))
        event = mask_secrets(event, self._secrets)
        if not self._stopped:
            self._journal.append(cut_long_texts(event, lambda text: "see the output of the profiled case"))
        self._emit(ExplainMessage(case=event.case, explained=event))

    def _launch(self, case: CaseState) -> Execution:
        self._emit(ExplainMessage(case=case.index))
        job = Job(
            case=case.index,
            config=self._secrets.revealed(case.config),
            sweep=self._sweep,
            zero_s=self._zero_s,
            scratch=f"explain-{case.index}",
            explain=True,
            trace=self._new_trace,
        )
        return self._executor.start(job, None)

    def _keep_trace(self) -> None:
        """Keep the trace of the process whose profile is shown."""
        if self._new_trace:
            Path(self._new_trace).replace(self._options.trace)

    def _stop(self, reason: str) -> None:
        self._stopped = True
        self._queue.stop(reason, self._now_s())

    def _now_s(self) -> float:
        return monotonic() - self._zero_s

    def _require_here(self, path: Path, cases: list[CaseState]) -> None:
        for case in cases:
            if case.node:
                raise BenchtuiError(
                    f"{path}: case {case.index + 1} ran on node {case.node} of a cluster; profile it with the"
                    " sweep: explain = true in [measure]"
                )

    def _changes(self, path: Path) -> tuple[str, ...]:
        """Return the changes since the session was recorded. Raises BenchtuiError unless they are allowed."""
        changed = changes(self._session, self._executor.host, VERSION)
        if changed and not self._options.anyway:
            raise BenchtuiError(
                f"{path}: this isn't the machine and software that measured the session: {'; '.join(changed)};"
                " use --anyway to profile here"
            )
        return changed

    def _require_same_files(self, path: Path, cases: list[CaseState]) -> None:
        """Raise BenchtuiError if files of a case have changed, unless that is allowed."""
        sweep = self._session.start.sweep
        recorded = ((case, case.prepared.files) for case in cases if case.prepared)
        changes = (file_changes(sweep, case.config, files) for case, files in recorded)
        changed = dict.fromkeys(change for of_case in changes for change in of_case)
        if changed and not self._options.anyway:
            raise BenchtuiError(
                f"{path}: files have changed since the session was recorded: {'; '.join(changed)};"
                " use --anyway to profile with the changed ones"
            )

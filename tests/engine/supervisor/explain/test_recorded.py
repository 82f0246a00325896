"""Cases of recorded sessions explained later: where that is possible, and what is recorded."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from explained import explained

from benchtui.engine import client
from benchtui.engine.control import ExplainMessage, ExplainOptions
from benchtui.engine.event_loop import EventLoop
from benchtui.engine.job import Job
from benchtui.engine.supervisor.explain.recorded import RecordedExplanations
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CaseStarted, SessionFinished, SessionStarted, Steps
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host
from benchtui.sessions.permissions import approved
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Sweep, cases
from benchtui.sessions.version import VERSION

HOST = Host(hostname="box", python="3.12.1", cpu_count=2, absent={"gpu": "none"})


class FakeExecutor:
    """Executor whose cases end at once, with a profile or without."""

    nodes = ()
    warnings = ()

    def __init__(self, host: Host = HOST) -> None:
        self.host = host
        self.jobs: list[Job] = []
        self.closed = False

    def open(self, context: Any) -> None:
        """Do nothing."""

    def start(self, job: Job, node: str | None) -> Any:
        self.jobs.append(job)
        if job.trace:
            Path(job.trace).write_text("trace")
        outcome = "ok" if job.case == 0 else "failed"
        found = [explained(0)] if job.case == 0 else []
        ended = CaseFinished(t=1.0, case=job.case, outcome=outcome, reason=None if found else "no such file")  # type: ignore[arg-type]

        def collect(now_s: float) -> Iterator[Any]:
            yield from (*found, ended)

        return SimpleNamespace(sources=(), left_s=0.0, collect=collect, end=lambda *reason: None)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recorded session of two measured cases and one that failed."""
    path = tmp_path / "session.json"
    sweep = Sweep(name="s", model="m", axes=Axes(batch_size=(1, 2, 4)))
    plan = tuple(case.config for case in cases(sweep))
    journal = Journal(path)
    journal.append(
        SessionStarted(t=0.0, id="x", created="", sweep=sweep, plan=plan, host=HOST, version=VERSION)
    )
    for index, config in enumerate(plan):
        journal.append(CaseStarted(t=1.0, case=index, config=config))
        journal.append(Steps(t=2.0, case=index, phase="measure", wall_ms=[27.0] * 5))
        journal.append(CaseFinished(t=3.0, case=index, outcome="ok" if index < 2 else "failed"))
    journal.append(SessionFinished(t=4.0, outcome="completed"))
    journal.close()
    return path


@pytest.fixture
def explain(path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[ExplainMessage]]:
    """Explain cases of the session, and return the messages."""
    monkeypatch.setattr(EventLoop, "catch_signals", lambda self, stop: None)

    def run(
        *indices: int, host: Host = HOST, anyway: bool = False, trace: Path | str = ""
    ) -> list[ExplainMessage]:
        sent: list[ExplainMessage] = []
        options = ExplainOptions(cases=indices, anyway=anyway, trace=str(trace))
        executor: Any = FakeExecutor(host)
        RecordedExplanations(path, options, executor, sent.append).run()
        assert executor.closed and all(job.explain for job in executor.jobs)
        return sent

    return run


def test_profiles_are_appended_and_nothing_else_changes(path: Path, explain: Callable[..., Any]) -> None:
    before = json.loads(path.read_text())
    sent = explain(0)
    assert [(each.case, each.explained is not None) for each in sent] == [(0, False), (0, True)]
    after = json.loads(path.read_text())
    assert after[:-1] == before
    assert (after[-1]["event"], after[-1]["t"], after[-1]["case"]) == ("explained", 4.0, 0)
    session = Session.load(path)
    assert session.finished is not None and session.cases[0].explained is not None
    assert not session.resumed and session.cases[0].steps_measured == 5


def test_case_that_fails_now_has_its_reason_and_others_go_on(path: Path, explain: Callable[..., Any]) -> None:
    explain(1, 0)
    session = Session.load(path)
    assert session.cases[1].explained is not None and session.cases[1].explained.absent == "no such file"
    assert session.cases[0].explained is not None and session.cases[0].explained.profile is not None


@pytest.mark.parametrize(("index", "files"), [(0, {"session.json", "step.json"}), (1, {"session.json"})])
def test_only_the_trace_of_the_shown_profile_remains(
    path: Path, explain: Callable[..., Any], index: int, files: set[str]
) -> None:
    explain(index, trace=path.with_name("step.json"))
    assert {file.name for file in path.parent.iterdir()} == files


def test_another_machine_is_refused_with_the_differences(path: Path, explain: Callable[..., Any]) -> None:
    before = path.read_bytes()
    other = Host(hostname="laptop", python="3.12.4", cpu_count=2, absent={"gpu": "none"})
    with pytest.raises(BenchtuiError, match=r"Host: box → laptop; Python: 3.12.1 → 3.12.4; use --anyway"):
        explain(0, host=other)
    assert path.read_bytes() == before
    explain(0, host=other, anyway=True)
    found = Session.load(path).cases[0].explained
    assert found is not None and found.changed == ("Host: box → laptop", "Python: 3.12.1 → 3.12.4")


def test_unmeasured_case_and_running_session_are_refused(path: Path, explain: Callable[..., Any]) -> None:
    with pytest.raises(BenchtuiError, match=r"case 3, .* failed: nothing to explain"):
        explain(2)
    writer = Journal(path, resumed=True)
    with pytest.raises(BenchtuiError, match="in use by a running sweep"):
        explain(0)
    writer.close()


def test_process_that_is_refused_says_why(path: Path) -> None:
    """The real process: this machine isn't the one that the session names."""
    with pytest.raises(
        BenchtuiError, match="this isn't the machine and software that measured the session: Host"
    ):
        list(client.explain(path, [0]).messages())
    with pytest.raises(BenchtuiError, match="no case 9; the session has 3 cases"):
        list(client.explain(path, [8], anyway=True).messages())


def test_changed_files_are_refused_by_name_unless_allowed(
    path: Path, explain: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approved, "missing", lambda permissions: ())
    events = json.loads(path.read_text())
    events[0]["sweep"]["task"] = f"{tmp_path}/sane.py:make"
    files = {"sane.py": "0" * 16}
    prepared = {"event": "case_prepared", "t": 1.0, "case": 0, "model": {"name": "m"}, "files": files}
    lines = [json.dumps(each, separators=(",", ":")) for each in (*events[:2], prepared, *events[2:])]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    (tmp_path / "sane.py").write_text("changed")
    before = path.read_bytes()
    with pytest.raises(BenchtuiError, match=r"files have changed .*: sane\.py: 0{8} → [0-9a-f]{8}; use --any"):
        explain(0)
    assert path.read_bytes() == before
    assert explain(0, anyway=True)[-1].explained is not None

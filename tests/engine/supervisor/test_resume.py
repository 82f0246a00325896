"""What is left of a sweep, wherever its record broke off or it was stopped; cases are played."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from benchtui.engine.control import ResumeOptions
from benchtui.engine.supervisor.resume import ResumableSession, enter_folder, read_for
from benchtui.sessions.errors import BenchtuiError, NothingToResumeError
from benchtui.sessions.events import CaseStarted, Continued, OrderChanged, Outcome, Runtime, SessionStarted
from benchtui.sessions.journal.reader import read
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library.paths import CPU_DEMO, demo_path
from benchtui.sessions.payloads import Host, Memory
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Config, Measure, Run, Sweep

Begin = Callable[..., Any]
Ends = Callable[[Config], tuple[Outcome, dict[str, Any]]]
AUTO = Axes(precision=("fp32", "bf16"), batch_size_auto=True)


def fitting(most: int) -> Ends:
    """A machine on which so many samples fit, and throughput grows with the batch size."""

    def ends(config: Config) -> tuple[Outcome, dict[str, Any]]:
        if config.batch_size > most:
            return "oom", {}
        return "ok", {"step_ms": 1.0, "memory": Memory(peak_allocated_mb=100.0 * config.batch_size)}

    return ends


def came_to(session: Session) -> list[Any]:
    """Each case in the end: options, outcome, and the steps of each round."""
    return sorted(
        (repr(case.config), case.state, str([len(each) for each in case.measured.by_round()]))
        for case in session.cases
    )


def texts(session: Session) -> list[str]:
    return sorted(message.text for message in session.messages if message.level == "info")


SWEEPS: dict[str, tuple[dict[str, Any], Ends]] = {
    "plain": ({}, fitting(100)),
    "rounds": ({"measure": Measure(rounds=3)}, fitting(2)),
    "auto": ({"axes": AUTO}, fitting(5)),
    "auto in rounds": ({"axes": AUTO, "measure": Measure(rounds=2)}, fitting(3)),
    "out of memory": (
        {"axes": Axes(sequence_length=(128, 64), batch_size=(2, 8, 4)), "measure": Measure(aa=True)},
        fitting(3),
    ),
    "side by side": (
        {"axes": Axes(device=("cuda:0", "cuda:1"), batch_size=(1, 4, 8)), "run": Run(parallel=True)},
        fitting(3),
    ),
}


@pytest.mark.parametrize("kind", SWEEPS)
def test_session_truncated_anywhere_resumes_to_the_same_end(
    stage: Begin, resume: Begin, tmp_path: Path, kind: str
) -> None:
    entries, ends = SWEEPS[kind]
    sweep = stage(**entries)
    sweep.finish_all(ends)
    whole = sweep.told()
    lines = sweep.path.read_bytes().splitlines(keepends=True)
    for count in range(2, len(lines)):
        path = tmp_path / f"cut-{count}.json"
        path.write_bytes(b"".join(lines[:count]))
        again = resume(path)
        again.finish_all(ends)
        session = again.told()
        assert came_to(session) == came_to(whole), count
        assert texts(session) == texts(whole), count
        assert session.left == 0 and session.done == len(session.cases)


@pytest.mark.parametrize("kind", SWEEPS)
def test_sweep_stopped_anywhere_resumes_to_the_same_end(stage: Begin, resume: Begin, kind: str) -> None:
    entries, ends = SWEEPS[kind]
    whole = stage(**entries)
    whole.finish_all(ends)
    for ended in range(len(whole.told().cases)):
        sweep = stage(**entries)
        for _ in range(ended):
            if sweep.running:
                outcome, fields = ends(sweep.scheduler.queue.cases[sweep.running[0]].config)
                sweep.finish(sweep.running[0], outcome, **fields)
        sweep.scheduler.stop("stopped by SIGTERM")
        while sweep.scheduler.advance():
            pass
        sweep.cut()
        try:
            again = resume(sweep.path)
        except NothingToResumeError:
            continue
        again.finish_all(ends)
        assert came_to(again.told()) == came_to(whole.told()), ended


def test_case_done_when_the_sweep_stopped_continues_its_search(stage: Begin, resume: Begin) -> None:
    """Its search had another size to try, which a sweep that ends doesn't begin any more."""
    sweep = stage(axes=Axes(batch_size_auto=True))
    sweep.played[0].finish("ok", step_ms=1.0)
    sweep.scheduler.stopping = "stopped"
    assert not sweep.scheduler.advance()
    assert len(sweep.told().cases) == 1
    sweep.cut()
    again = resume(sweep.path)
    again.finish_all(fitting(3))
    assert [case.config.batch_size for case in again.told().cases] == [1, 2, 4, 3]


def test_added_dropped_and_reordered_cases_are_restored(stage: Begin, resume: Begin) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2, 3, 4, 5)))
    scheduler = sweep.scheduler
    sweep.finish(0)
    added = scheduler.add(Config(device="cpu", batch_size=9), "added by the user")
    scheduler.end_pending([scheduler.queue.cases[2]], "skipped", "dropped by the user")
    scheduler.queue.rearrange([4, added.index])
    sweep.log.write(
        OrderChanged(t=sweep.log.now_s(), cases=tuple(each.index for each in scheduler.queue.pending))
    )
    again = resume(sweep.cut())
    assert (again.running, again.pending) == ([1], [4, 5, 3]), "the one that was cut short comes first"
    again.finish_all(fitting(100))
    assert [case.state for case in again.told().cases] == ["ok", "ok", "skipped", "ok", "ok", "ok"]
    assert again.scheduler.add(Config(device="cpu"), "again", of=0).index == 6


def test_case_added_despite_out_of_memory_is_run(stage: Begin, resume: Begin) -> None:
    sweep = stage()
    sweep.finish(0, "oom")
    sweep.scheduler.queue.paused = True
    sweep.log.zero_s -= 10.0  # the played case ended at 2 s
    sweep.scheduler.add(Config(device="cpu", batch_size=8), "added by the user")
    again = resume(sweep.cut())
    assert again.running == [3]
    assert again.finish(3) is False
    assert [outcome for outcome, _ in again.outcomes().values()] == ["oom", "skipped", "skipped", "ok"]


def test_paused_sweep_is_resumed_unpaused(stage: Begin, resume: Begin) -> None:
    sweep = stage()
    sweep.scheduler.queue.paused = True
    sweep.finish(0)
    again = resume(sweep.cut())
    assert again.running == [1]
    assert not any(isinstance(event, Continued) for event in read(again.path).events)


def test_failed_cases_are_rerun_only_on_request(stage: Begin, resume: Begin) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2, 3, 4)))
    sweep.finish(0, "failed", reason="why")
    sweep.finish(1, "timeout", reason="late")
    sweep.finish(2, "skipped", reason="skipped by the user")
    path = sweep.cut()
    kept = path.read_bytes()
    plain = resume(path)
    assert (plain.running, plain.pending) == ([3], [])
    plain.cut()
    path.write_bytes(kept)
    retried = resume(path, retry_failed=True)
    retried.finish_all(fitting(100))
    assert [case.state for case in retried.told().cases] == ["ok", "ok", "skipped", "ok"]


def test_failed_search_continues_when_retried(stage: Begin, resume: Begin) -> None:
    sweep = stage(axes=Axes(batch_size_auto=True))
    sweep.finish(0, step_ms=1.0)
    assert not sweep.finish(1, "failed", reason="a loose cable")
    assert "stopped at batch size 2 (failed: a loose cable)" in texts(sweep.told())[0]
    again = resume(sweep.cut(), retry_failed=True)
    again.finish_all(fitting(3))
    assert [case.config.batch_size for case in again.told().cases] == [1, 2, 4, 3]
    assert "largest that fits 3" in texts(again.told())[0]


def test_resumed_rounds_combine_with_recorded_ones(stage: Begin, resume: Begin) -> None:
    sweep = stage(axes=Axes(), measure=Measure(rounds=2))
    sweep.finish(0, memory=Memory(peak_rss_mb=900.0), marks=("disturbed: x",))
    again = resume(sweep.cut())
    assert not again.finish(0, memory=Memory(peak_rss_mb=700.0))
    end = again.told().cases[0].finished
    assert end is not None and end.memory == Memory(peak_rss_mb=900.0)
    assert any(mark.startswith("disturbed") for mark in end.marks)


def test_session_can_be_resumed_twice_with_a_continuous_clock(stage: Begin, resume: Begin) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2, 3)))
    path = sweep.cut()
    for index in range(2):
        again = resume(path)
        assert again.running == [index]
        again.finish(index)
        again.cut()
    last = resume(path)
    last.finish_all(fitting(100))
    session = last.told()
    assert [case.state for case in session.cases] == ["ok"] * 3 and len(session.resumed) == 3
    resumes = [event.t for event in session.resumed]
    assert resumes == sorted(resumes) and session.now_s >= resumes[-1] >= 2.0
    begun = Counter(event.case for event in read(path).events if isinstance(event, CaseStarted))
    assert begun == {0: 2, 1: 2, 2: 2}


def made(path: Path, **entries: Any) -> Path:
    """A record of nothing but its beginning."""
    fields: dict[str, Any] = {"id": "x", "created": "", "plan": (Config(device="cpu"),), "host": Host()}
    journal = Journal(path)
    journal.append(SessionStarted(t=0.0, sweep=Sweep(name="s", model="m"), **fields | entries))
    journal.close()
    return path


def test_unresumable_session_is_rejected_and_unchanged(tmp_path: Path) -> None:
    sessions = {
        "can't resume a session imported from hyperfine": made(tmp_path / "a.json", source="hyperfine"),
        "can't resume a simulated session": made(tmp_path / "f.json", simulated="a model"),
        "can't resume: line 1: not a session event": tmp_path / "b.json",
        "can't resume: the session has no session_started event": tmp_path / "c.json",
        "hardware or software has changed since the session was recorded: Host: box → ": made(
            tmp_path / "d.json", host=Host(hostname="box"), version="0"
        ),
    }
    (tmp_path / "b.json").write_text("not a session\n")
    (tmp_path / "c.json").write_text("[\n")
    for said, path in sessions.items():
        before = path.read_bytes()
        with pytest.raises(BenchtuiError, match=f"^{path}: {said}") as refused:
            ResumableSession(path, ResumeOptions()).resumed(Host(hostname="spare"))
        assert "\n" not in str(refused.value)
        assert path.read_bytes() == before
        del refused


def test_nothing_left_to_run_mentions_cases_to_retry(stage: Begin, tmp_path: Path) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2)))
    sweep.finish(0)
    sweep.finish(1, "failed", reason="why")
    path = sweep.cut()
    with pytest.raises(NothingToResumeError, match=r"no cases left to run; 1 failed .*: use --retry-failed"):
        ResumableSession(path, ResumeOptions())


def test_changed_torch_is_reported(stage: Begin) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2)))
    sweep.log.write(Runtime(t=0.1, torch="2.9", threads=8, hip="6.4"))
    left = ResumableSession(sweep.cut(), ResumeOptions())
    assert left.torch_changes(Runtime(t=9.0, torch="2.9", threads=8, hip="6.4")) == []
    assert left.torch_changes(Runtime(t=9.0, torch="2.9", threads=2, hip="7.0")) == [
        "resumed with a different hip: 6.4 → 7.0",
        "resumed with a different threads: 8 → 2",
    ]
    left.journal.close()


@pytest.mark.parametrize("purpose", ["resume", "explain"])
def test_bundled_sessions_stay_as_they_are(purpose: Literal["resume", "explain"]) -> None:
    with pytest.raises(BenchtuiError, match=f"^demo-cpu: can't {purpose} a session that comes with benchtui$"):
        read_for(purpose, demo_path(CPU_DEMO))


@pytest.mark.parametrize("purpose", ["resume", "explain"])
def test_error_names_file_and_purpose_once(tmp_path: Path, purpose: Literal["resume", "explain"]) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n{"event": 3}\n]\n')
    with pytest.raises(BenchtuiError) as error:
        read_for(purpose, path)
    assert str(error.value).startswith(f"{path}: can't {purpose}: line 2: ")
    assert str(error.value).count(str(path)) == 1


def test_recorded_folder_is_entered_if_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    session = Session.load(demo_path(CPU_DEMO))
    for folder, entered in (
        (None, tmp_path),
        (str(tmp_path / "gone"), tmp_path),
        ("a\0b", tmp_path),
        (str(tmp_path / "models"), tmp_path / "models"),
    ):
        session.started = replace(session.start, folder=folder)
        enter_folder(session)
        assert Path.cwd() == entered

"""Jobs of ``benchtui slurm`` under a real Slurm: to their end, over their time limit, cancelled, put back."""

import subprocess
from pathlib import Path

import pytest
from slurm_here import Slurm

from benchtui.sessions.events import CaseStarted, Resumed, SessionFinished
from benchtui.sessions.journal.reader import read
from benchtui.sessions.state.session import Session

pytestmark = pytest.mark.long

STEPS = 400
OWN = """
import os, time

class Step:
    samples = 1
    def __init__(self, slow):
        self.step = lambda: time.sleep(0.5 if slow else 0.001)

def make(case):
    return Step(case.batch_size > 1 and os.path.exists("slow"))
"""
"""All cases but the first take minutes while there is a file ``slow``."""


class Desk:
    """A folder with a sweep of three cases, from which jobs are submitted."""

    def __init__(self, folder: Path, command: str, slurm: Slurm) -> None:
        self.folder = folder
        self.slow = folder / "slow"
        self._command = command
        self._slurm = slurm
        folder.mkdir()
        (folder / "own.py").write_text(OWN)
        (folder / "own.toml").write_text(
            'model = "none"\ntask = "own.py:make"\n[axes]\nbatch_size = [1, 2, 3]\n'
            f"[run]\nwait_for_quiet = 'off'\n[measure]\nwarmup = 0\niterations = {STEPS}\npeaks = false\n"
        )

    def benchtui(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [self._command, *arguments]
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=180, check=False
        )

    def submit(self, *options: str) -> str:
        """Submit the sweep; gives the job."""
        done = self.benchtui("slurm", "own.toml", "--trust", *options, "--submit")
        assert done.returncode == 0, done.stderr
        job, session = done.stdout.strip().removeprefix("job ").split("; session ")
        assert session == str(self.session(job))
        return job

    def session(self, job: str) -> Path:
        return self.folder / f"own-{job}.json"

    def log(self, job: str) -> str:
        return (self.folder / f"own-{job}.log").read_text()

    def until_second_case(self, job: str) -> None:
        self._slurm.until(lambda: self._in_second_case(self.session(job)))

    def _in_second_case(self, session: Path) -> bool:
        if not session.exists() or not session.stat().st_size:
            return False
        cases = Session.load(session).cases
        return len(cases) > 1 and len(cases[1].measured) > 0

    def goes_on(self, job: str) -> None:
        """Have a job that was put back begin soon, and run to its end.

        Within the second in which it was put back slurmd would refuse it as a job that was killed.
        """
        self.slow.unlink()
        self._slurm.until_state(job, "PENDING")
        self._slurm.ask("scontrol", "update", f"JobId={job}", "StartTime=now+3")
        known = self._slurm.until_state(job, "COMPLETED")
        assert (known["ExitCode"], known["Restarts"]) == ("0:0", "1"), self.log(job)

    def require_whole(self, job: str) -> None:
        """The session is completed, every case was measured once, and the report is there."""
        session = Session.load(self.session(job))
        assert session.finished is not None and session.finished.outcome == "completed"
        assert len(session.start.plan) == 3
        assert {(case.state, len(case.measured)) for case in session.cases} == {("ok", STEPS)}
        assert self.session(job).with_suffix(".md").read_text().startswith("# ")


@pytest.fixture
def desk(home: Path, command: str, slurm: Slurm) -> Desk:
    return Desk(home / "ada's sweeps", command, slurm)


def starts(path: Path) -> list[int]:
    """The cases of a session in the order in which they were started, those that began again twice."""
    return [event.case for event in read(path).events if isinstance(event, CaseStarted)]


def test_job_runs_to_completion(desk: Desk, slurm: Slurm) -> None:
    job = desk.submit("--constraint", "fast&large", "--time", "10m", "--sbatch", "--comment=it's a test")
    known = slurm.until_state(job, "COMPLETED")
    assert known["ExitCode"] == "0:0", desk.log(job)
    assert (known["JobName"], known["Features"], known["Comment"]) == ("own", "fast&large", "it's a test")
    assert (known["TimeLimit"], known["Requeue"], known["OverSubscribe"]) == ("00:10:00", "1", "NO")
    desk.require_whole(job)
    assert starts(desk.session(job)) == [0, 1, 2]
    assert f"3 cases: 3 ok; session {desk.session(job)}" in desk.log(job)


def test_job_over_its_time_limit_is_requeued_and_finishes(desk: Desk, slurm: Slurm) -> None:
    desk.slow.touch()
    script = desk.folder / "job.sh"
    script.write_text(desk.benchtui("slurm", "own.toml").stdout)
    job = slurm.ask("sbatch", "--parsable", "--time=1", "--signal=B:USR1@10", str(script))
    desk.until_second_case(job)
    slurm.until_state(job, "PENDING")
    stopped = Session.load(desk.session(job))
    assert stopped.finished is not None and stopped.finished.outcome == "interrupted"
    assert [case.state for case in stopped.cases] == ["ok", "interrupted", "interrupted"]
    desk.goes_on(job)
    desk.require_whole(job)
    assert starts(desk.session(job)) == [0, 1, 1, 2]
    events = read(desk.session(job)).events
    ends = [event.outcome for event in events if isinstance(event, SessionFinished)]
    assert ends == ["interrupted", "completed"]
    assert desk.log(job).count("time limit reached: requeuing the job") == 1


def test_canceled_job_closes_its_session_and_is_not_requeued(desk: Desk, slurm: Slurm) -> None:
    desk.slow.touch()
    job = desk.submit()
    desk.until_second_case(job)
    slurm.ask("scancel", job)
    slurm.until_state(job, "CANCELLED")
    slurm.until(lambda: slurm.ask("sinfo", "--noheader", "--format=%T") == "idle")
    stopped = Session.load(desk.session(job))
    assert stopped.finished is not None and stopped.finished.outcome == "interrupted"
    assert [case.state for case in stopped.cases] == ["ok", "interrupted", "interrupted"]
    assert slurm.facts(job)["Restarts"] == "0"
    desk.slow.unlink()
    assert desk.benchtui("run", "--resume", str(desk.session(job))).returncode == 0


def test_job_requeued_by_slurm_finishes(desk: Desk, slurm: Slurm) -> None:
    desk.slow.touch()
    job = desk.submit()
    desk.until_second_case(job)
    slurm.ask("scontrol", "requeue", job)  # as when it is preempted, or its node is lost
    desk.goes_on(job)
    desk.require_whole(job)
    assert sum(isinstance(event, Resumed) for event in read(desk.session(job)).events) == 1


def test_two_node_job_runs_ray_on_both_and_resumes_when_requeued(desk: Desk, slurm: Slurm) -> None:
    pytest.importorskip("ray", reason="Ray is an extra: make long installs it")
    desk.slow.touch()
    job = desk.submit("--nodes", "2")
    desk.until_second_case(job)
    slurm.ask("scontrol", "requeue", job)
    desk.goes_on(job)
    desk.require_whole(job)
    session = Session.load(desk.session(job))
    assert len(session.nodes) == 2
    assert {case.node for case in session.cases} == set(session.nodes)


def test_slurm_rejection_is_reported_in_one_line(desk: Desk) -> None:
    done = desk.benchtui("slurm", "own.toml", "--partition", "nope", "--submit")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("benchtui: --submit: sbatch rejected the job: ")
    assert done.stderr.count("\n") == 1 and "nvalid partition" in done.stderr

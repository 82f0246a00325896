"""The batch script of ``benchtui slurm`` as bash runs it, with the signals of Slurm."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchtui.sessions.state.session import Session

Run = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE_S = 90.0
OWN = """
import os, time

class Step:
    samples = 1
    def __init__(self, slow):
        self.step = lambda: time.sleep(0.2 if slow else 0.001)

def make(case):
    return Step(case.batch_size > 1 and not os.path.exists("fast"))
"""
"""All cases but the first take minutes, unless there is a file ``fast``."""


class Job:
    """A batch script with a fake ``scontrol`` that only logs its arguments."""

    def __init__(self, folder: Path, benchtui: Run) -> None:
        self.folder = folder
        (folder / "own.py").write_text(OWN)
        (folder / "own.toml").write_text(
            'model = "none"\ntask = "own.py:make"\n[axes]\nbatch_size = [1, 2, 3]\n'
            "[run]\nwait_for_quiet = 'off'\n[measure]\nwarmup = 0\niterations = 500\npeaks = false\n"
        )
        self.script = folder / "job.sh"
        self.script.write_text(benchtui("slurm", "own.toml", "--trust").stdout)
        self.scontrol_log = folder / "scontrol.log"
        self.fake_scontrol(0)
        self.session = folder / "own-7.json"
        self.log = folder / "log"
        self._started: list[subprocess.Popen[bytes]] = []

    def fake_scontrol(self, status: int) -> None:
        path = self.folder / "bin" / "scontrol"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/bash\necho "$*" >> {self.scontrol_log}\nexit {status}\n')
        path.chmod(0o755)

    def start(self, restarts: int = 0) -> subprocess.Popen[bytes]:
        environment = os.environ | {"SLURM_JOB_ID": "7", "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        if restarts:
            environment["SLURM_RESTART_COUNT"] = str(restarts)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                ["bash", str(self.script)],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def wait_for_second_case(self) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._in_second_case():
            assert time.monotonic() < deadline_s and self._started[-1].poll() is None, self.log.read_text()
            time.sleep(0.05)

    def _in_second_case(self) -> bool:
        if not self.session.exists() or not self.session.stat().st_size:
            return False
        cases = Session.load(self.session).cases
        return len(cases) > 1 and len(cases[1].measured) > 0

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def job(home: Path, benchtui: Run) -> Iterator[Job]:
    made = Job(home, benchtui)
    yield made
    made.close()
    benchtui("stop")


def test_job_out_of_time_is_requeued_and_resumes_to_the_end(job: Job) -> None:
    first = job.start()
    job.wait_for_second_case()
    first.send_signal(signal.SIGUSR1)
    assert first.wait(PATIENCE_S) == 130, job.log.read_text()
    assert job.scontrol_log.read_text() == "requeue 7\n"
    stopped = Session.load(job.session)
    assert stopped.finished is not None and stopped.finished.outcome == "interrupted"
    assert [case.state for case in stopped.cases] == ["ok", "interrupted", "interrupted"]
    assert not job.session.with_suffix(".md").exists()
    kept = stopped.cases[0].measured

    (job.folder / "fast").touch()
    assert job.start(restarts=1).wait(PATIENCE_S) == 0, job.log.read_text()
    session = Session.load(job.session)
    assert session.finished is not None and session.finished.outcome == "completed"
    assert [(case.state, len(case.measured)) for case in session.cases] == [("ok", 500)] * 3
    assert session.cases[0].measured == kept
    assert job.session.with_suffix(".md").read_text().startswith("# ")
    assert job.scontrol_log.read_text() == "requeue 7\n"


def test_job_ended_by_slurm_closes_its_session_and_is_not_requeued(job: Job) -> None:
    process = job.start()
    job.wait_for_second_case()
    os.killpg(process.pid, signal.SIGTERM)  # the script and benchtui, as scancel does
    assert process.wait(PATIENCE_S) == 130, job.log.read_text()
    assert not job.scontrol_log.exists()
    session = Session.load(job.session)
    assert session.finished is not None and session.finished.outcome == "interrupted"
    assert job.session.with_suffix(".md").read_text().startswith("# ")


@pytest.mark.long
@pytest.mark.parametrize(("restarts", "status", "calls"), [(10, 0, ""), (9, 1, "requeue 7\n")])
def test_job_that_cannot_be_requeued_ends_with_its_measurements(
    job: Job, restarts: int, status: int, calls: str
) -> None:
    job.fake_scontrol(status)
    process = job.start(restarts)
    job.wait_for_second_case()
    process.send_signal(signal.SIGUSR1)
    assert process.wait(PATIENCE_S) == 130, job.log.read_text()
    assert (job.scontrol_log.read_text() if job.scontrol_log.exists() else "") == calls
    assert f"not requeued after {restarts} restarts" in job.log.read_text()
    assert job.session.with_suffix(".md").read_text().startswith("# ")

"""Workers that die or can't be killed, and a process that answers a question nobody asks any more."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.job import Job, PeaksReport
from benchtui.engine.node import worker_processes
from benchtui.engine.worker import peak_rates
from benchtui.sessions.events import CaseFinished, Peaks
from benchtui.sessions.sweep import Config, Sweep


def test_answering_a_dead_engine_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def measured(device: str, precision: str, threads: int, idle_first: bool) -> PeaksReport:
        asked.append(device)
        return PeaksReport(peaks=Peaks(t=0.0, device=device, precision=precision, threads=threads))

    monkeypatch.setattr(peak_rates, "main", measured)
    engine, probe = Pipe(duplex=False)
    engine.close()
    worker_processes._run_peaks(probe, "cpu", "fp32", 1, False)
    assert asked == ["cpu"]


@pytest.mark.parametrize("error", [EOFError(), ConnectionRefusedError(111, "Connection refused")])
def test_a_limit_of_processor_time_is_named_when_the_fork_server_is_gone(
    error: OSError | EOFError, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlimited = str(worker_processes._not_started("the worker", error))
    assert unlimited == "can't start the worker: the fork server is gone"
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2, 3) if which == resource.RLIMIT_CPU else None)
    limited = str(worker_processes._not_started("the worker", error))
    assert limited.startswith(f"{unlimited}; a process may use 2 s of processor time (ulimit -t)")


def test_worker_killed_by_the_kernel_for_memory_is_out_of_memory() -> None:
    killed = worker_processes._outcome_of_exit(0, -9, True, 1.0)
    assert (killed.outcome, killed.signal) == ("oom", "SIGKILL")
    assert killed.reason == "killed by the kernel's out-of-memory killer (SIGKILL)"
    assert worker_processes._outcome_of_exit(0, -9, False, 1.0).outcome == "failed"


def test_worker_that_cannot_be_killed_is_named_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with an unresponsive driver, the kill has no effect."""
    spawn = multiprocessing.get_context("spawn")
    process = spawn.Process(target=time.sleep, args=(600,))

    def plain_process(target: Callable[..., None], args: Any) -> Any:
        return process

    context: Any = SimpleNamespace(Pipe=spawn.Pipe, Process=plain_process)
    monkeypatch.setattr(worker_processes.fork_server, "start", lambda started, variables: started.start())
    monkeypatch.setattr(worker_processes.fork_server, "server_pid", lambda variables: None)
    monkeypatch.setattr(worker_processes, "_kill", lambda pid: None)
    monkeypatch.setattr(worker_processes, "_CHECK_S", 0.0)
    monkeypatch.setattr(worker_processes, "TEARDOWN_S", 0.0)
    config = Config(device="cpu")
    job = Job(case=0, config=config, sweep=Sweep(name="s", model="m"), zero_s=0.0, scratch="none")
    worker = worker_processes.CaseProcess(context, job, on_end=lambda ended: None)
    try:
        worker.end("skipped", "skipped by the user", 1.0)
        (end,) = worker.collect(2.0)
        assert isinstance(end, CaseFinished)
        note = f"process {process.pid} can't be killed and is still running"
        assert (end.outcome, end.reason) == ("skipped", f"skipped by the user; {note}")
        assert process.is_alive()
    finally:
        process.kill()
        process.join()

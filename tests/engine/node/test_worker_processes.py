"""What a process that answers a question does when nobody wants to know any more."""

import resource
from multiprocessing import Pipe

import pytest

from benchtui.engine.job import PeaksReport
from benchtui.engine.node import worker_processes
from benchtui.engine.worker import peak_rates
from benchtui.sessions.events import Peaks


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

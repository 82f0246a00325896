"""Own steps in a real worker: their data loaders, the processes that they start, and how those end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from watching import Watched

from benchtui.sessions.sweep import Sweep

LOADING = """
import os
import sys
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, kind):
        self.kind = kind
    def __len__(self):
        return 100_000
    def __getitem__(self, index):
        if index == 20 and self.kind == "raises":
            raise KeyError("row 20")
        if index == 20 and self.kind == "imports":
            import this_is_nowhere
        if index == 20 and self.kind == "dies":
            print("Traceback (most recent call last):\\n  File 'x'\\nValueError: last", file=sys.stderr)
            os._exit(3)
        return index

class Step:
    samples = 4
    def __init__(self, case):
        class Local(Rows):
            pass
        kind, context = case.parameters["kind"], case.parameters["context"]
        rows = (Local if context == "fork" else Rows)(kind)
        method = None if context == "fork" else context
        # lists need no file of a worker, which may be gone
        loader = DataLoader(
            rows, 4, num_workers=1, persistent_workers=True, multiprocessing_context=method, collate_fn=list
        )
        self.batches, self.lap = iter(loader), case.lap
        open("pids", "a").write(f"{self.batches._workers[0].pid} ")
    def step(self):
        next(self.batches)
        self.lap("data")

def make(case):
    return Step(case)
"""


@pytest.fixture
def loading(tmp_path: Path, tiny_sweep: Callable[..., Sweep]) -> Callable[..., Sweep]:
    """Return a sweep of a step with a loader whose workers fail in a way."""
    (tmp_path / "my_loader.py").write_text(LOADING.replace('"pids"', repr(str(tmp_path / "pids"))))

    def make(*overrides: str) -> Sweep:
        task = f"task={tmp_path / 'my_loader.py'}:make"
        return tiny_sweep(task, "iterations=20", "batch_size=1", *overrides)

    return make


def test_loaders_run_as_in_a_script_and_end_with_their_case(
    start: Callable[[Sweep], Watched], loading: Callable[..., Sweep], tmp_path: Path
) -> None:
    """A class in a function can't be pickled; spawned workers import the file by its name."""
    overrides = ("axes.parameters.kind=fine", "axes.parameters.context=fork,spawn,forkserver")
    watched = start(loading(*overrides))
    session = watched.until_ended()
    assert watched.states == ["ok", "ok", "ok"], [case.finished for case in session.cases]
    assert session.cases[0].parts.keys() == {"data", "rest"}
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 3 and not any(psutil.pid_exists(pid) for pid in pids)


def test_failure_of_a_worker_is_in_the_reason(
    start: Callable[[Sweep], Watched], loading: Callable[..., Sweep]
) -> None:
    overrides = ("axes.parameters.kind=raises,imports,dies", "axes.parameters.context=fork")
    watched = start(loading(*overrides))
    session = watched.until_ended()
    reasons = [str(case.finished and case.finished.reason) for case in session.cases]

    def at(text: str) -> str:
        line = next(number for number, row in enumerate(LOADING.splitlines(), 1) if text in row)
        return f"{session.start.sweep.task.removesuffix(':make')}:{line}"

    assert reasons[0] == f"{at('raise KeyError')}: KeyError: 'row 20' (in DataLoader worker process 0)"
    assert reasons[1].startswith(f"{at('import this')}: ModuleNotFoundError: No module named 'this_is_")
    assert reasons[1].endswith(" (in DataLoader worker process 0)")
    assert reasons[2].startswith(f"{at('next(self')}: ")
    assert reasons[2].endswith(": ValueError: last"), reasons[2]


def test_process_of_a_case_looks_like_one_from_a_shell(
    start: Callable[[Sweep], Watched], own: Callable[..., Sweep], tmp_path: Path
) -> None:
    body = f"""
import multiprocessing, signal
state = multiprocessing.current_process()
facts = {{
    "name": state.name,
    "parent": multiprocessing.parent_process(),
    "daemon": state.daemon,
    "method": multiprocessing.get_start_method(),
    "hangup": signal.getsignal(signal.SIGHUP) == signal.SIG_DFL,
    "argv": sys.argv,
    "main": sorted(vars(sys.modules["__main__"])),
    "module": __name__,
    "path": sys.path[0],
}}
open({str(tmp_path / "facts")!r}, "a").write(repr(facts) + "\\n")
return Step(lambda: None)"""
    watched = start(own(f"import sys{body}", "axes.env.ANY=x", "rounds=1"))
    watched.until_ended()
    assert watched.states == ["ok"]
    facts: dict[str, Any] = eval((tmp_path / "facts").read_text())
    assert facts == {
        "name": "MainProcess",
        "parent": None,
        "daemon": False,
        "method": __import__("multiprocessing").get_context().get_start_method(),
        "hangup": True,
        "argv": [str(tmp_path / "own.py")],
        "main": ["__doc__", "__loader__", "__name__", "__package__", "__spec__"],
        "module": "own",
        "path": str(tmp_path),
    }

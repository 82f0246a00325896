"""Real cases on a real Ray cluster of three nodes on this machine."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
import pytest
from watching import ENDLESS, Watched, allowed, wait_gone

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished
from benchtui.sessions.export import dataframe
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_writer import toml_of

pytest.importorskip("ray", reason="Ray is an extra: make long installs it")
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
    ),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
Begin = Callable[[Sweep], Watched]
MakeSweep = Callable[..., Sweep]
SLOW = "speed=slow"
"""The label of the one node that is alone of its kind."""


def stations() -> list[psutil.Process]:
    """The stations that run below this process."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "--station" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_twelve_cases_are_shared_by_three_nodes(start: Begin, on_ray: MakeSweep) -> None:
    watched = start(on_ray("batch_size=1..12", "iterations=20"))
    session = watched.until_ended()
    assert watched.states == ["ok"] * 12
    assert {case.node for case in session.cases} == set(session.nodes)
    assert len(session.nodes) == 3
    for node in session.nodes.values():
        assert node.runtime is not None and node.joined.kind == "cpu"
        assert node.joined.resources["CPU"] == 1.0 and len(node.trace.at_s) > 0
    assert {"speed": "slow"} in [node.joined.labels for node in session.nodes.values()]
    wait_until_gone()


def test_killed_node_costs_only_its_case(lab: Any, home: Path, on_ray: MakeSweep, command: str) -> None:
    sweep = on_ray("batch_size=1..12", "iterations=1000000", "max_time=3s", f"machine={SLOW},speed=fast")
    sweep_file = home / "sweep.toml"
    sweep_file.write_text(toml_of(sweep))
    path = home / "session.json"
    with subprocess.Popen(
        [command, "run", str(sweep_file), "-o", str(path)], stderr=subprocess.PIPE, text=True
    ) as process:
        lines = iter(process.stderr or ())
        assert any("starts: speed=slow" in line for line in lines)
        watched = Watched(client.find(path) or pytest.fail("no engine"))
        watched.until_steps(0)
        lab.cluster.remove_node(slow_node(lab), allow_graceful=False)
        said = "".join(lines)
    assert process.returncode == 1, said
    watched.until_ended()
    session = watched.session
    slow = [case for case in session.cases if case.config.machine == SLOW]
    hit = [case.state for case in slow].index("failed")  # not always the first: a node takes its time to go
    lost = slow[hit].finished
    assert lost is not None and (lost.reason or "").startswith("node lost: ")
    assert {case.state for case in slow[:hit]} <= {"ok"}
    assert {case.state for case in slow[hit + 1 :]} == {"interrupted"}
    assert {case.state for case in session.cases if case.config.machine != SLOW} == {"ok"}
    ends = [event.case for event in watched.events if isinstance(event, CaseFinished)]
    assert sorted(ends) == list(range(24)), "each case ends once"
    assert "Traceback" not in said


def test_case_of_a_killed_node_is_repeated_on_request(lab: Any, start: Begin, on_ray: MakeSweep) -> None:
    watched = start(on_ray("batch_size=1,2,3,4", *ENDLESS, "max_time=4s", "lost=repeat"))
    watched.until(lambda: len([case for case in watched.session.cases if len(case.measured)]) >= 3)
    lab.cluster.remove_node(slow_node(lab), allow_graceful=False)
    session = watched.until_ended()
    assert watched.states == ["ok"] * 4
    repeated = [case for case in session.cases if case.repeated]
    assert len(repeated) == 1 and repeated[0].repeated[0].reason.startswith("node lost: ")
    assert [name for name, node in session.nodes.items() if node.lost] != [repeated[0].node]


def test_session_of_a_killed_driver_is_complete_and_resumes(start: Begin, on_ray: MakeSweep) -> None:
    watched = start(on_ray("batch_size=1..6", *ENDLESS, "max_time=3s"))
    watched.until_steps(1)
    os.kill(watched.engine.pid, signal.SIGKILL)
    watched.until_ended()
    assert watched.session.cut_off
    wait_until_gone()
    again = Watched(client.resume(watched.engine.path))
    session = again.until_ended()
    assert {case.state for case in session.cases} == {"ok"} and len(session.cases) == 6
    assert session.finished is not None and session.finished.outcome == "completed"


def test_place_restricts_the_nodes(start: Begin, on_ray: MakeSweep) -> None:
    session = start(on_ray("batch_size=1,2", f"place={SLOW}")).until_ended()
    assert [case.state for case in session.cases] == ["ok", "ok"] and len(session.nodes) == 1


@pytest.mark.parametrize(
    ("override", "why"),
    [
        ("place=H100", "run.place: no node of the cluster matches 'H100'; available: .*speed=fast"),
        ("address=127.0.0.1:1", "run.address: no Ray cluster at '127.0.0.1:1': .*refused"),
    ],
)
def test_unavailable_cluster_gives_a_one_line_error_and_no_file(
    home: Path, on_ray: MakeSweep, override: str, why: str
) -> None:
    path, sweep = home / "s.json", on_ray(override)
    with pytest.raises(BenchtuiError, match=why) as caught:
        client.start(sweep, path, allowed(sweep))
    assert "\n" not in str(caught.value) and not path.exists()


def test_server_that_is_not_a_cluster_is_rejected(home: Path, on_ray: MakeSweep) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(BenchtuiError) as caught:
            sweep = on_ray(f"address=127.0.0.1:{port}")
            client.start(sweep, home / "s.json", allowed(sweep))
    assert "\n" not in str(caught.value) and not (home / "s.json").exists()


JOINS = """
import sys
import ray
from benchtui.engine.executors.ray import join
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Run

{change}
try:
    join(Run(executor="ray", address=sys.argv[1]))
except BenchtuiError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("change", "theirs"),
    [
        ('ray.__version__ = "2.1.0"', "Ray: 2.1.0"),
        ("sys.version_info = (3, 10, 9, 'final', 0)", "Python: 3.10.9"),
    ],
)
def test_different_ray_or_python_version_names_both_in_one_line(lab: Any, change: str, theirs: str) -> None:
    command = [sys.executable, "-c", JOINS.format(change=change), lab.address]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.startswith("run.address: no Ray cluster") and said.count("\n") == 1
    assert theirs in said and f"Ray: {metadata.version('ray')}" in said and "Traceback" not in said


def slow_node(lab: Any) -> Any:
    """The cluster's node that is alone of its kind: the last that was added."""
    return lab.cluster.list_all_nodes()[-1]


def wait_until_gone() -> None:
    for process in stations():
        wait_gone(process.pid)


def test_cluster_session_reads_like_any_other(start: Begin, on_ray: MakeSweep) -> None:
    watched = start(on_ray("batch_size=1"))
    watched.until_ended()
    session = Session.load(watched.engine.path)
    assert dataframe.frame(session)["node"].tolist() == [session.cases[0].node]

"""Sweeps on a cluster whose nodes are processes of this machine: engine, wires, stations, signals are real."""

import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import light
import psutil
import pytest
from msgspec.structs import replace
from watching import Watched, wait_gone

from benchtui.engine.control import ResumeOptions
from benchtui.engine.executor import Node
from benchtui.engine.executors.cluster import ClusterExecutor, report_s, software_differences, unique_names
from benchtui.engine.executors.remote_node import RemoteNode
from benchtui.engine.executors.stdio_relay import AgentProcess, PullTransport
from benchtui.engine.process_tree import is_running
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, NodeJoined, Runtime, Steps, Telemetry
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Run, Sweep
from benchtui.sessions.version import VERSION

Begin = Callable[..., Watched]
LIKE = {light.KINDS: "H100,H100,H100"}


def sweep(cases: int = 6, steps: int = 100, **run: str | bool) -> Sweep:
    where = Run(executor="ray", **{"repeat_on_each": False} | run)  # type: ignore[arg-type]
    return replace(light.sweep(cases, steps), run=where)


def stations(watched: Watched) -> list[int]:
    """Process numbers of the nodes' stations."""
    return [int(line) for line in Path(f"{watched.engine.path}.nodes").read_text().split()]


def kill_node(watched: Watched, name: str) -> None:
    os.kill(stations(watched)[int(name[1:]) - 1], signal.SIGKILL)


def test_equal_nodes_share_cases_one_at_a_time_and_report_their_own(begin: Begin) -> None:
    watched = begin(sweep(cases=12), LIKE)
    session = watched.until_ended()
    assert watched.states == ["ok"] * 12
    assert {case.node for case in session.cases} == set(session.nodes) == {"n1", "n2", "n3"}
    assert all(len(case.measured) == 100 for case in session.cases)
    for node in session.nodes.values():
        assert node.runtime is not None and len(node.trace.at_s) > 0
        assert (node.joined.kind, node.joined.labels, node.lost) == ("H100", {"zone": "a"}, None)
    assert session.machine.trace.latest("engine_cpu_percent") is not None
    told = [event for event in watched.events if isinstance(event, NodeJoined | Runtime | CaseFinished)]
    assert [type(event) for event in told[:6]] == [NodeJoined] * 3 + [Runtime] * 3
    for node in session.nodes:
        there = [case for case in session.cases if case.node == node]
        spans = sorted((case.started.t, case.finished.t) for case in there if case.started and case.finished)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
    for case in session.cases:
        assert case.started and case.finished and case.finished.measured_s
        begin_s, end_s = case.finished.measured_s
        assert case.started.t - 0.5 <= begin_s < end_s <= case.finished.t + 0.5
        assert end_s - begin_s >= 0.2


@pytest.mark.long
def test_more_nodes_report_steps_less_often(begin: Begin) -> None:
    assert [report_s(nodes) for nodes in (1, 2, 8, 20, 1000)] == [0.1, 0.1, 0.4, 1.0, 2.0]
    watched = begin(sweep(cases=6, steps=500), {light.KINDS: ",".join(["H100"] * 6)})
    session = watched.until_ended()
    for case in session.cases:
        told = [event.t for event in watched.events if isinstance(event, Steps) and event.case == case.index]
        assert case.finished and case.finished.measured_s and len(case.measured) == 500
        begin_s, end_s = case.finished.measured_s
        assert len(told) <= (end_s - begin_s) / 0.3 + 1, "the last one comes with the end"


def test_every_case_runs_on_its_kind_of_node(begin: Begin) -> None:
    asked = sweep(cases=2)
    asked = replace(asked, axes=replace(asked.axes, machine=("*", "n2")))
    session = begin(asked, {light.KINDS: "H100,A100"}).until_ended()
    assert session.start.sweep.axes.machine == ("H100", "A100", "n2")
    assert [case.node for case in session.cases] == ["n1", "n1", "n2", "n2", "n2", "n2"]


def test_dead_node_costs_only_its_case(begin: Begin) -> None:
    watched = begin(sweep(cases=6, steps=300), LIKE)
    node = watched.until_steps(0).node
    assert node is not None
    kill_node(watched, node)
    session = watched.until_ended()
    assert watched.states == ["failed"] + ["ok"] * 5
    finished = session.cases[0].finished
    assert finished is not None and finished.reason == "node lost: the node agent exited with status -9"
    assert session.nodes[node].lost is not None
    ends = [event.case for event in watched.events if isinstance(event, CaseFinished)]
    assert sorted(ends) == list(range(6)), "each case ends once"
    assert session.finished is not None and session.finished.outcome == "completed"


def test_case_of_a_dead_node_is_repeated_on_request(begin: Begin) -> None:
    watched = begin(sweep(cases=3, steps=300, lost="repeat"), LIKE)
    node = watched.until_steps(1).node
    assert node is not None
    kill_node(watched, node)
    session = watched.until_ended()
    assert watched.states == ["ok"] * 3
    case = session.cases[1]
    assert case.node not in (None, node) and len(case.measured) == 300
    assert [each.reason for each in case.repeated] == ["node lost: the node agent exited with status -9"]


def test_sweep_without_nodes_ends_and_resumes_on_others(begin: Begin) -> None:
    watched = begin(sweep(cases=3, steps=200), {light.KINDS: "H100"})
    watched.until_steps(0)
    kill_node(watched, "n1")
    session = watched.until_ended()
    assert watched.states == ["failed", "interrupted", "interrupted"] and session.left == 2
    assert_resumed(watched, retry_failed=True)


def test_sweep_of_a_killed_engine_leaves_nothing_and_resumes(begin: Begin) -> None:
    watched = begin(sweep(cases=6, steps=300), LIKE)
    watched.until_steps(1)
    processes = [psutil.Process(pid) for pid in stations(watched)]
    below = [each.pid for process in processes for each in process.children(recursive=True)]
    os.kill(watched.engine.pid, signal.SIGKILL)
    for pid in [*stations(watched), *below]:
        wait_gone(pid)
    watched.until_ended()
    assert_resumed(watched)


def assert_resumed(watched: Watched, **how: bool) -> None:
    """Another engine measures what is left, each case once."""
    path = watched.engine.path
    process = light.launch(path, ResumeOptions(**how), LIKE)
    assert process.wait(60) == 0
    again = Watched(watched.engine)
    again.read()
    again.close()
    assert set(again.states) == {"ok"}
    steps = {len(case.measured) for case in again.session.cases}
    assert steps == {again.session.start.sweep.measure.iterations}
    assert list(again.session.nodes) == ["n1", "n2", "n3"]


def test_stop_ends_the_cases_on_all_nodes(begin: Begin) -> None:
    watched = begin(sweep(cases=6, steps=100_000), LIKE)
    for index in range(3):
        watched.until_steps(index)
    watched.engine.stop()
    session = watched.until_ended()
    assert watched.states == ["interrupted"] * 6
    assert session.finished is not None and session.finished.outcome == "interrupted"
    for pid in stations(watched):
        wait_gone(pid)


def test_case_on_a_node_can_be_skipped_and_times_out(begin: Begin) -> None:
    asked = sweep(cases=2, steps=100_000)
    asked = replace(asked, measure=replace(asked.measure, timeout_s=3.0))
    watched = begin(asked, {light.KINDS: "H100,H100"})
    watched.until_steps(0)
    watched.engine.skip(0)
    watched.until_ended()
    assert watched.states == ["skipped", "timeout"]


def test_silent_node_is_lost(begin: Begin) -> None:
    watched = begin(sweep(cases=2, steps=400), {light.KINDS: "H100,H100", light.SILENT: "1.5"})
    node = watched.until_steps(0).node
    assert node is not None
    os.kill(stations(watched)[int(node[1:]) - 1], signal.SIGSTOP)
    session = watched.until_ended()
    finished = session.cases[0].finished
    assert finished is not None and finished.reason == "node lost: no message for 1.5 s"
    assert watched.states == ["failed", "ok"]


def test_nodes_of_one_host_are_numbered() -> None:
    assert unique_names(["b", "a", "b", "b"]) == ["b", "a", "b#2", "b#3"]


def test_different_versions_are_reported_with_their_nodes() -> None:
    hosts = {f"n{n}": Host(python="3.11", packages={"torch": "2.9"}) for n in range(1, 6)}
    hosts["n5"] = Host(python="3.11", packages={"torch": "2.8"}, driver="550")
    assert software_differences(hosts) == [
        "nodes differ in GPU driver: none (4 nodes), 550 (n5)",
        "nodes differ in torch: 2.9 (4 nodes), 2.8 (n5)",
    ]
    assert software_differences({"n1": hosts["n1"], "n2": hosts["n2"]}) == []


def wire(script: str) -> PullTransport:
    relay = AgentProcess((sys.executable, "-c", script))
    return PullTransport(relay.read, relay.write, relay.close)


HELLO = '{"event":"hello","version":"0.0.1","host":{}}'
PONGS = """
import sys
print('%s', flush=True)
for line in sys.stdin:
    print(line.replace("ping", "pong")[:-2] + ',"here_s":7.0}', flush=True)
"""
"""A station of another version, whose clock stands still."""


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import sys; sys.exit('no torch\\nhere')", "node n1: the node agent exited with status 1: here"),
        ("print('what?')", "node n1 sent an invalid message: "),
        (
            'print(\'{"event":"done"}\', flush=True); import time; time.sleep(60)',
            "node n1: unexpected reply; it isn't a node agent",
        ),
        ("import time; time.sleep(60)", "node n1: the node agent didn't start in time"),
        (PONGS % HELLO, "node n1 runs benchtui 0.0.1, this machine .*; install the same version on both"),
    ],
)
def test_node_without_an_agent_is_rejected_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setattr("benchtui.engine.executors.cluster.JOIN_S", 2.0)
    closed, one = [], wire(script)
    with pytest.raises(BenchtuiError, match=why):
        ClusterExecutor({"n1": one}, {"n1": Node("n1", kind="cpu")}, lambda: closed.append(True))
    assert closed == [True]
    one.join()


def test_executor_that_fails_after_the_handshake_closes_its_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(nvml: object) -> None:
        raise OSError("too many open files")

    monkeypatch.setattr("benchtui.engine.executors.cluster.describe_host", fail)
    agent = AgentProcess((sys.executable, "-c", PONGS % HELLO.replace("0.0.1", VERSION)))
    transport, closed = PullTransport(agent.read, agent.write, agent.close), []
    with pytest.raises(OSError, match="too many open files"):
        ClusterExecutor({"n1": transport}, {"n1": Node("n1", kind="cpu")}, lambda: closed.append(True))
    assert closed == [True] and not is_running(agent.pid)
    transport.join()


def test_node_clock_offset_uses_the_fastest_answer() -> None:
    one = wire(PONGS % HELLO)
    runner = RemoteNode("n1", one)
    before_s = time.monotonic()
    runner.handshake(before_s + 10)
    assert 7.0 - time.monotonic() <= runner.offset_s <= 7.0 - before_s
    runner.close()
    one.join()


def test_node_telemetry_has_the_node_name(begin: Begin) -> None:
    watched = begin(sweep(cases=1), {light.KINDS: "cpu"})
    watched.until_ended()
    names = {event.node for event in watched.events if isinstance(event, Telemetry)}
    assert names == {None, "n1"}

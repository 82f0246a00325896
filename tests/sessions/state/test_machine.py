"""State of each machine that a session ran on."""

from typing import Any

import pytest

from benchtui.sessions.analysis.roofline import limit
from benchtui.sessions.events import (
    CaseFinished,
    CaseRepeated,
    CaseStarted,
    Idle,
    NodeJoined,
    NodeLost,
    Peaks,
    Resumed,
    Runtime,
    SessionStarted,
    Steps,
    Telemetry,
)
from benchtui.sessions.export.case_rows import case_row
from benchtui.sessions.payloads import GpuReadings, Host, HostReadings, StepCost
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep

CONFIG = Config(machine="H100", device="cuda:0")


def joined(node: str, **fields: Any) -> NodeJoined:
    values: dict[str, Any] = {
        "t": 0.0,
        "host": Host(hostname=node),
        "kind": "H100",
        "clock_offset_s": -3.5,
    } | fields
    return NodeJoined(node=node, **values)


@pytest.fixture
def session() -> Session:
    """Two cases, and two nodes that have joined."""
    found = Session()
    sweep = Sweep(name="s", model="m")
    found.apply(SessionStarted(t=0.0, id="x", created="", sweep=sweep, plan=(CONFIG, CONFIG), host=Host()))
    found.apply_all([joined("n1"), joined("n2", labels={"zone": "a"})])
    return found


def begun(case: int, node: str) -> CaseStarted:
    return CaseStarted(t=1.0, case=case, config=CONFIG, node=node)


def steps(case: int) -> Steps:
    return Steps(t=2.0, case=case, phase="measure", wall_ms=[4.0, 4.0])


def test_each_node_and_the_engine_have_their_own_readings(session: Session) -> None:
    session.apply_all(
        [
            Runtime(t=1.0, torch="2.9", node="n1"),
            Runtime(t=1.0, torch="2.8", node="n2"),
            Idle(t=1.0, window_s=1.0, power_w={"gpu 0": 70.0}, node="n2"),
            Telemetry(t=2.0, at_s=[2.0], gpus=(GpuReadings(index=0, power_w=[300.0]),), node="n1"),
            Telemetry(t=2.0, at_s=[2.0], gpus=(GpuReadings(index=0, power_w=[400.0]),), node="n2"),
            Telemetry(t=2.0, at_s=[2.0], host=HostReadings(engine_cpu_percent=[1.5])),
        ]
    )
    first, second = session.nodes.values()
    assert (first.runtime and first.runtime.torch, second.runtime and second.runtime.torch) == ("2.9", "2.8")
    assert (first.idle, second.idle and second.idle.power_w) == (None, {"gpu 0": 70.0})
    assert [node.gpus[0].latest("power_w") for node in (first, second)] == [300.0, 400.0]
    assert (session.machine.gpus, session.runtime, session.machine.trace.latest("engine_cpu_percent")) == (
        {},
        None,
        1.5,
    )
    assert second.joined.labels == {"zone": "a"} and first.host.hostname == "n1"


def test_case_of_a_lost_node_waits_and_its_end_counts_once(session: Session) -> None:
    session.apply_all([begun(0, "n1"), begun(1, "n2"), steps(0), NodeLost(t=3.0, node="n1", reason="gone")])
    assert session.nodes["n1"].lost is not None and session.nodes["n2"].lost is None
    assert [case.state for case in session.cases] == ["queued", "running"]
    assert session.running == [session.cases[1]] and session.left == 2
    session.apply(CaseFinished(t=3.0, case=0, outcome="failed", reason="node lost: gone"))
    assert (session.cases[0].state, session.cases[0].cut_short, session.done) == ("failed", False, 1)


def test_retried_case_has_node_and_steps_of_its_last_attempt(session: Session) -> None:
    session.apply_all([begun(0, "n1"), steps(0), NodeLost(t=3.0, node="n1", reason="gone")])
    session.apply(CaseRepeated(t=4.0, case=0, reason="node lost: gone", pause_s=0.0))
    session.apply_all([begun(0, "n2"), steps(0)])
    case = session.cases[0]
    assert (case.node, case.state, case.lost, len(case.measured)) == ("n2", "running", False, 2)
    row = case_row(case)
    assert row.node == "n2" and row.machine == "H100"


def test_rejoined_node_is_not_lost_and_keeps_its_first_runtime(session: Session) -> None:
    session.apply_all([Runtime(t=1.0, torch="2.9", node="n1"), NodeLost(t=3.0, node="n1", reason="gone")])
    session.apply(Resumed(t=4.0, created="", host=Host(), cases=()))
    session.apply_all([joined("n1", kind="A100"), Runtime(t=5.0, torch="3.0", node="n1")])
    node = session.nodes["n1"]
    assert (node.lost, node.joined.kind, node.runtime and node.runtime.torch) == (None, "A100", "2.9")


def test_case_is_compared_with_the_peaks_of_its_node(session: Session) -> None:
    for node, flops in (("n1", 1e12), ("n2", 4e12), (None, 9e12)):
        session.apply(
            Peaks(t=1.0, device="cuda:0", precision="fp32", flops_per_s=flops, bytes_per_s=1e12, node=node)
        )
    for index, node in enumerate(("n1", "n2")):
        work = StepCost(flops=1e9, bytes_moved=1e6, busy_ms=4.0)
        session.apply_all([begun(index, node), steps(index)])
        session.apply(CaseFinished(t=3.0, case=index, outcome="ok", work=work))
    shares = [found.shares.arithmetic for case in session.cases if (found := limit(case, session.peaks))]
    assert shares == pytest.approx([0.25, 0.0625])

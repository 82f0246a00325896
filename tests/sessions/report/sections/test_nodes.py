"""Report sections about the nodes of a cluster."""

from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.events import CaseStarted, NodeJoined, NodeLost, Runtime
from benchtui.sessions.payloads import Environment, Host
from benchtui.sessions.state.session import Session

from ..conftest import full_report


def joined(node: str, **host: Any) -> NodeJoined:
    facts = {"hostname": node, "processor": "Some CPU", "cpu_count": 16} | host
    return NodeJoined(t=0.0, node=node, host=Host(**facts), kind="cpu", clock_offset_s=0.25)


@pytest.fixture
def shared(bench: Any) -> Session:
    """The same case on two nodes, the second of which takes a tenth longer and is lost at the end."""
    bound = {"environment": Environment(affinity="0-7")}
    made = [bench.case(1, ms=10.0, machine="one", end=bound), bench.case(1, ms=11.0, machine="two")]
    session, nodes = Session(), iter(("one", "two"))
    first, *rest = bench.events(*made)
    session.apply_all([first, joined("one"), joined("two", cpu_count=8)])
    session.apply(Runtime(t=0.0, torch="2.9", node="two"))
    for event in rest:
        session.apply(replace(event, node=next(nodes)) if isinstance(event, CaseStarted) else event)
    session.apply(NodeLost(t=98.0, node="two", reason="its raylet died"))
    return session


def test_every_node_is_described(shared: Session) -> None:
    text = full_report(shared)
    one, two = text.partition("### Node one")[2].split("### Node two")
    assert "- **CPU count**: 16" in one and "- **Lost**" not in one
    assert text.count("- **CPU affinity**") == 1 and "- **CPU affinity**: 0-7" in one
    assert "- **CPU count**: 8" in two and "- **PyTorch**: 2.9" in two
    assert "- **Lost**: its raylet died" in two and "- **Clock ahead of the engine's**: 0.250000 s" in two


def test_node_differences_are_a_table_without_host_names(shared: Session) -> None:
    table = full_report(shared).partition("### What differs between the nodes")[2].partition("\n## ")[0]
    assert "| CPU count | 16  | 8   |" in table and "Host" not in table


def test_identical_nodes_are_reported_as_identical(bench: Any) -> None:
    session = Session()
    first, *rest = bench.events(bench.case(1, ms=10.0))
    session.apply_all([first, joined("one"), joined("two"), *rest])
    assert "The nodes report no differences except their names" in full_report(session)


def test_machines_are_compared(shared: Session, read: Any) -> None:
    rows = read(full_report(shared))["Machine"].columns("Case", "Against", "Step (×)", "Verdict")
    assert rows == [
        ["two cpu fp32 compile=off bs=1 seq=128", "one", "0.909", "UNSURE: can't resolve below 20 %"]
    ], "one round"


def test_cases_spread_over_unlike_nodes_cause_a_warning(bench: Any) -> None:
    session, nodes = Session(), iter(("one", "two"))
    first, *rest = bench.events(bench.case(1, ms=10.0), bench.case(2, ms=20.0))
    session.apply_all([first, joined("one"), joined("two", cpu_count=8)])
    for event in rest:
        session.apply(replace(event, node=next(nodes)) if isinstance(event, CaseStarted) else event)
    text = full_report(session)
    assert "> - **Different nodes**: cases ran on 2 nodes that differ in CPU count" in text
    assert "| cpu fp32 compile=off bs=2 seq=128 | two " in text

"""Cluster nodes: the facts of each node, and the differences between nodes."""

from collections.abc import Collection, Iterable

from benchtui.sessions.analysis.roofline import context_power_w
from benchtui.sessions.compare.system_facts import Fact, affinity_facts, facts, machine_facts
from benchtui.sessions.report.content import Section, items, section
from benchtui.sessions.state.machine import NodeState
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import count, number
from benchtui.sessions.text.tables import Column, Table, table, text_column

ALWAYS_DIFFERENT = ("Host",)
"""Facts that differ between any two machines."""


def systems(session: Session) -> list[Section | None]:
    """Return the facts of every node, in the order of joining."""
    return [section(f"Node {name}", items(_facts(session, node))) for name, node in session.nodes.items()]


def unlike(session: Session, names: Collection[str | None]) -> list[str]:
    """Return the labels of the facts that differ between these nodes."""
    facts_of_nodes = [node_facts for name, node_facts in _facts_by_node(session).items() if name in names]
    labels = dict.fromkeys(
        label for node_facts in facts_of_nodes for label in node_facts if label not in ALWAYS_DIFFERENT
    )
    return [label for label in labels if len({node_facts.get(label) for node_facts in facts_of_nodes}) > 1]


def differences(session: Session) -> Table | None:
    """Return the facts that differ between nodes, one column per node."""
    columns: list[Column[str]] = [text_column("Fact", lambda label: label)]
    columns += [
        text_column(name, lambda label, node_facts=node_facts: node_facts.get(label))  # type: ignore[misc]
        for name, node_facts in _facts_by_node(session).items()
    ]
    return table(columns, unlike(session, session.nodes))


def _facts_by_node(session: Session) -> dict[str, dict[str, str]]:
    return {name: dict(machine_facts(node.host, node.runtime)) for name, node in session.nodes.items()}


def _powers(by_device: Iterable[tuple[str, float]]) -> str | None:
    return ", ".join(f"{name} {number(power, 1)} W" for name, power in by_device) or None


def _facts(session: Session, node: NodeState) -> tuple[Fact, ...]:
    joined, cases = node.joined, [case for case in session.cases if case.node == node.joined.node]
    given = (f"{name} {number(amount, 0)}" for name, amount in joined.resources.items())
    idle = node.idle.power_w.items() if node.idle else ()
    return facts(
        ("Kind", joined.kind),
        ("Cases", count(len(cases), "case")),
        ("Lost", node.lost and node.lost.reason),
        ("Labels", ", ".join(f"{name}={value}" for name, value in joined.labels.items()) or None),
        ("Resources", ", ".join(given) or None),
        ("Clock ahead of the engine's", f"{joined.clock_offset_s:.6f} s"),
        ("Idle power", _powers(idle)),
        ("Idle power with a CUDA context", _powers(context_power_w(session.peaks, joined.node).items())),
        *machine_facts(node.host, node.runtime),
        *affinity_facts(cases),
    )

"""Cases on several nodes, with cases that are played: where each may run, what the loss of a node leads to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchtui.engine.executor import NODE_LOST_PREFIX, Node
from benchtui.engine.supervisor.case_queue import Queue
from benchtui.engine.supervisor.scheduler import LOST_RETRIES
from benchtui.sessions.events import CaseRepeated, CaseStarted, NodeLost, Runtime
from benchtui.sessions.journal.reader import read
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Axes, Baseline, Measure, Run, Sweep

Begin = Callable[..., Any]
ON_RAY = Run(executor="ray", repeat_on_each=False)
AGAIN = Run(executor="ray", repeat_on_each=False, lost="repeat")
GPU = Runtime(t=0.0, torch="2", cuda="12", cuda_devices=("A",))


def nodes(*kinds: str) -> tuple[Node, ...]:
    """Nodes of these kinds: n1, n2 and so on."""
    return tuple(
        Node(f"n{number}", Host(memory_mb=1000.0 * number), kind, {"zone": kind[:1]}, {"CPU": 1.0, "fast": 1.0})
        for number, kind in enumerate(kinds, 1)
    )


def made(there: tuple[Node, ...], *, parallel: bool = False, rounds: int = 1, **axes: Any) -> Queue:
    run = Run(executor="ray", parallel=parallel)
    sweep = Sweep(name="s", model="m", axes=Axes(**axes), run=run, measure=Measure(rounds=rounds))
    return Queue(sweep, there)


def started(queue: Queue) -> list[tuple[int, str | None]]:
    """Start what may start now: each case with its node."""
    turns = []
    while turn := queue.next():
        turns.append((turn.case.index, turn.node))
    return turns


@pytest.mark.parametrize("machine", ["", "H100", "zone=H", "fast", "n1"])
def test_node_matches_its_kind_labels_resources_and_name(machine: str) -> None:
    assert nodes("H100")[0].matches(machine)


@pytest.mark.parametrize("machine", ["A100", "zone=A", "zone", "n2", "zone=", "=H"])
def test_node_matches_nothing_else(machine: str) -> None:
    assert not nodes("H100")[0].matches(machine)


def test_equal_nodes_share_cases_one_at_a_time() -> None:
    queue = made(nodes("H100", "H100"), batch_size=(1, 2, 3))
    assert started(queue) == [(0, "n1"), (1, "n2")]
    queue.ended(1, "ok")
    assert started(queue) == [(2, "n2")]


def test_case_waits_for_its_kind_of_node_while_others_run() -> None:
    queue = made(nodes("H100", "A100"), machine=("H100", "A100"), batch_size=(1, 2))
    assert started(queue) == [(0, "n1"), (2, "n2")]
    queue.ended(2, "ok")
    assert started(queue) == [(3, "n2")]
    queue.ended(0, "ok")
    assert started(queue) == [(1, "n1")]


def test_parallel_device_rule_applies_per_node() -> None:
    queue = made(nodes("H100", "H100"), parallel=True, device=("cuda:0", "cuda:1", "cpu"), batch_size=(1, 2))
    assert started(queue) == [(0, "n1"), (1, "n2"), (2, "n1"), (3, "n2")]
    queue.ended(0, "ok")
    assert started(queue) == [], "the case on the processor waits for a node to itself"
    queue.ended(2, "ok")
    assert started(queue) == [(4, "n1")]


def test_rounds_can_continue_on_any_node() -> None:
    queue = made(nodes("H100", "H100"), rounds=2, batch_size=(1,))
    assert started(queue) == [(0, "n1")]
    queue.ended(0, "ok")
    turn = queue.next()
    assert turn is not None and turn.round == 1


def test_case_starts_only_on_nodes_with_its_device() -> None:
    queue = made(nodes("H100", "H100"), device=("cuda:0", "cpu"))
    queue.set_runtimes({"n1": Runtime(t=0.0, torch="2"), "n2": GPU})
    assert started(queue) == [(0, "n2"), (1, "n1")]


def test_case_that_no_node_can_run_is_skipped_with_a_reason(stage: Begin) -> None:
    sweep = stage(nodes=nodes("H100"), run=ON_RAY, axes=Axes(machine=("H100", "A100"), batch_size=(1,)))
    assert sweep.outcomes() == {1: ("skipped", "no node matches A100")}
    assert sweep.told().cases[0].node == "n1"


def lose(sweep: Any, name: str) -> bool:
    """Lose a node with what runs there, as its executor would tell it."""
    there = [index for index, turn in sweep.scheduler.queue.running.items() if turn.node == name]
    sweep.scheduler.on_node_lost(NodeLost(t=sweep.log.now_s(), node=name, reason="it burned"))
    for index in there:
        sweep.played[index].finish("failed", reason=f"{NODE_LOST_PREFIX}it burned")
    return bool(sweep.scheduler.advance())


def test_lost_node_fails_its_case_and_others_run_elsewhere(stage: Begin) -> None:
    sweep = stage(nodes=nodes("H100", "H100"), run=ON_RAY)
    assert sweep.running == [0, 1]
    assert lose(sweep, "n1")
    assert sweep.running == [1] and sweep.pending == [2]
    sweep.finish(1)
    assert not sweep.finish(2)
    assert sweep.outcomes() == {0: ("failed", "node lost: it burned"), 1: ("ok", None), 2: ("ok", None)}
    session = sweep.told()
    assert session.nodes["n1"].lost is not None and session.nodes["n1"].lost.reason == "it burned"
    assert [case.node for case in session.cases] == ["n1", "n2", "n2"]


def test_case_of_a_lost_node_is_repeated_on_request(stage: Begin) -> None:
    sweep = stage(nodes=nodes("H100", "H100"), run=AGAIN, axes=Axes(batch_size=(1, 2)))
    assert lose(sweep, "n1")
    assert (sweep.running, sweep.pending) == ([1], [0])
    case = sweep.told().cases[0]
    assert (case.state, case.lost, case.cut_short) == ("queued", True, True)
    sweep.finish(1)
    assert sweep.running == [0] and len(sweep.told().cases[0].measured) == 0
    assert not sweep.finish(0)
    assert sweep.outcomes() == {0: ("ok", None), 1: ("ok", None)}
    assert len(sweep.told().cases[0].measured) == 20, "what was measured on the lost node doesn't count"
    events = [each for each in read(sweep.path).events if isinstance(each, CaseStarted | CaseRepeated)]
    assert [(type(each).__name__, each.case) for each in events] == [
        ("CaseStarted", 0),
        ("CaseStarted", 1),
        ("CaseRepeated", 0),
        ("CaseStarted", 0),
    ]


def test_case_that_keeps_losing_nodes_is_repeated_up_to_a_limit(stage: Begin) -> None:
    names = [f"n{number + 1}" for number in range(LOST_RETRIES + 2)]
    sweep = stage(nodes=nodes(*["H100"] * len(names)), run=AGAIN, axes=Axes(batch_size=(1,)))
    for name in names[: LOST_RETRIES + 1]:
        lose(sweep, name)
    assert sweep.outcomes() == {0: ("failed", "node lost: it burned")}


def test_loss_of_the_last_node_interrupts_all_cases(stage: Begin, resume: Callable[..., Any]) -> None:
    sweep = stage(nodes=nodes("H100"), run=AGAIN)
    assert not lose(sweep, "n1")
    outcomes = sweep.outcomes()
    assert outcomes[0] == ("interrupted", "node lost: it burned")
    assert (
        outcomes[1] == outcomes[2] == ("interrupted", "no node available after the loss of node n1: it burned")
    )
    assert sweep.told().left == 3


def test_node_lost_while_stopping_fails_no_case(stage: Begin) -> None:
    sweep = stage(nodes=nodes("H100", "H100"), run=ON_RAY, axes=Axes(batch_size=(1, 2)))
    sweep.scheduler.stop("stopped")
    lose(sweep, "n1")
    assert sweep.outcomes()[0] == ("interrupted", "node lost: it burned")


def test_loss_of_the_last_node_of_a_kind_ends_only_its_cases(stage: Begin) -> None:
    axes = Axes(machine=("H100", "A100"), batch_size=(1, 2))
    sweep = stage(nodes=nodes("H100", "A100"), run=ON_RAY, axes=axes)
    assert lose(sweep, "n1")
    assert sweep.outcomes()[1] == ("interrupted", "no node matches H100 after the loss of node n1: it burned")
    assert sweep.running == [2] and sweep.finish(2)


def test_stop_ends_a_case_waiting_for_another_node(stage: Begin) -> None:
    sweep = stage(nodes=nodes("H100", "H100"), run=AGAIN, axes=Axes(batch_size=(1, 2)))
    lose(sweep, "n1")
    sweep.scheduler.stop("stopped")
    assert not sweep.scheduler.advance()
    assert set(sweep.outcomes().values()) == {("interrupted", "stopped")}


def test_session_cut_before_a_repeat_restarts_the_case(stage: Begin, resume: Callable[..., Any]) -> None:
    sweep = stage(nodes=nodes("H100", "H100"), run=AGAIN, axes=Axes(batch_size=(1, 2)))
    lose(sweep, "n1")
    assert len(sweep.told().cases[0].measured) == 20
    path: Path = sweep.cut()
    again = resume(path, nodes=nodes("H100"))
    assert again.running == [0] and again.pending == [1]
    again.finish(0)
    again.finish(1)
    session = again.told()
    assert [(case.state, len(case.measured)) for case in session.cases] == [("ok", 20), ("ok", 20)]


def test_each_sharing_node_runs_the_baseline(stage: Begin) -> None:
    rules = Measure(baseline=Baseline(batch_size=2), aa=True)
    sweep = stage(
        nodes=nodes("H100", "H100"), run=Run(executor="ray"), axes=Axes(batch_size=(1, 2)), measure=rules
    )
    session = sweep.told()
    added = [case for case in session.cases if case.added]
    assert [(case.config.machine, case.config.batch_size) for case in added] == [("n2", 2), ("n1", 2)]
    assert all(case.added and (case.added.why, case.added.of) == ("on each node", 1) for case in added)
    assert added[0].name == "n2 cpu fp32 compile=off bs=2 seq=128 (rerun of case 2)"
    while sweep.running:
        sweep.finish(sweep.running[0])
    assert {case.config.machine: case.node for case in sweep.told().cases if case.added} == {
        "n1": "n1",
        "n2": "n2",
    }


@pytest.mark.parametrize(
    ("there", "axes", "run"),
    [
        (("H100",), {}, Run(executor="ray")),
        (("H100", "A100"), {"machine": ("H100", "A100")}, Run(executor="ray")),
        (("H100", "H100"), {}, Run(executor="ray", repeat_on_each=False)),
    ],
)
def test_baseline_is_not_repeated_without_sharing_or_if_disabled(
    stage: Begin, there: tuple[str, ...], axes: dict[str, Any], run: Run
) -> None:
    sweep = stage(nodes=nodes(*there), run=run, axes=Axes(**axes))
    assert not [case for case in sweep.told().cases if case.added]


def test_only_new_nodes_run_the_baseline_after_a_resume(stage: Begin, resume: Callable[..., Any]) -> None:
    sweep = stage(nodes=nodes("H100", "H100"), run=Run(executor="ray"), axes=Axes(batch_size=(1,)))
    path = sweep.cut()
    again = resume(path, nodes=nodes("H100", "H100", "H100"))
    machines = [case.config.machine for case in again.told().cases]
    assert machines == ["", "n2", "n1", "n3"]


def test_machine_option_without_a_cluster_is_skipped(stage: Begin) -> None:
    sweep = stage(axes=Axes(machine=("H100",)))
    assert sweep.outcomes() == {
        0: ("skipped", 'machine H100 names nodes of a cluster; set run.executor = "ray"')
    }

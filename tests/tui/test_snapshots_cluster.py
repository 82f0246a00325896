"""Pictures of the Monitor on a cluster: many nodes, all over the whole screen, and one with its GPUs."""

from typing import Any

import pytest

from benchtui.tui.app import BenchtuiApp

NODES = [f"box-{number:02}" for number in range(1, 41)]
VIEWS = {"many": (), "nodes": ("z",), "node": ("z", "up")}


@pytest.mark.parametrize("theme", ["benchtui-dark", "benchtui-light"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["small", "usual"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_cluster(
    story: Any,
    engine: Any,
    surroundings: Any,
    clock: Any,
    snap_compare: Any,
    theme: str,
    size: tuple[int, int],
    view: str,
) -> None:
    story.begin(batch_sizes=tuple(range(1, 41)), iterations=100)
    for node in NODES:
        story.join(node, gpus=8)
    story.start(0, NODES[0]).prepare(0).steps(0, [10.0, 9.0], "warmup").steps(0, [8.0] * 100).finish(0)
    for case, node in enumerate(NODES[1:36], 1):
        story.start(case, node).prepare(case).steps(case, [8.0 + case % 3 for _ in range(case)])
    for node in NODES:
        story.telemetry(8, throttle="hw_thermal" if node == NODES[2] else "", node=node).t -= 1.0
    story.lose(NODES[4], "its agent doesn't answer")
    app = BenchtuiApp(surroundings, story.path, engine, theme=theme, clock=clock)
    assert snap_compare(app, terminal_size=size, press=VIEWS[view])

"""Snapshots of the Monitor's panels, pages and prompts."""

from typing import Any

import pytest
from pictured import until_unchanged

from benchtui.tui.app import BenchtuiApp

LOOKS = pytest.mark.parametrize(
    ("theme", "size"), [("benchtui-dark", (80, 24)), ("benchtui-light", (120, 40))], ids=["small", "usual"]
)
VIEWS = {
    "signs": (),
    "zoomed band": ("z",),
    "machine": ("z", "tab", "tab"),
    "parts": ("z", "tab", "tab", "tab"),
    "sorted": ("s", "s", "s", "S"),
    "filter": ("slash", "b", "s", "=", "1"),
    "add": ("a", *"batch_size=x"),
    "columns": ("C",),
    "help": ("question_mark",),
    "cluster": (),
    "nodes": ("z",),
    "node": ("z", "up"),
}
NODES = [f"box-{number:02}" for number in range(1, 41)]


def on_a_machine(story: Any) -> None:
    """Write three of five cases, the last of them running and throttled."""
    story.begin(batch_sizes=(1, 2, 4, 8, 16), gpus=2, iterations=100)
    story.case(0, 10.0, 120, "random weights").telemetry(2).case(1, 18.0, 120, "random weights")
    story.start(2).prepare(2, "random weights").steps(2, [40.0, 26.0], "warmup")
    story.steps(2, [25.0 + step % 7 / 5 for step in range(40)])
    story.telemetry(2, throttle="sw_thermal").t -= 1.0
    story.steps(2, [25.5 + step % 4 / 5 for step in range(20)] + [60.0])


def on_a_cluster(story: Any) -> None:
    """40 nodes of 8 GPUs: one waits, 35 run a case, one of them is throttled and another lost."""
    story.begin(batch_sizes=tuple(range(1, 41)), iterations=100)
    for node in NODES:
        story.join(node, gpus=8)
    story.start(0, NODES[0]).prepare(0).steps(0, [10.0, 9.0], "warmup").steps(0, [8.0] * 100).finish(0)
    for case, node in enumerate(NODES[1:36], 1):
        story.start(case, node).prepare(case).steps(case, [8.0 + case % 3 for _ in range(case)])
    for node in NODES:
        story.telemetry(8, throttle="hw_thermal" if node == NODES[2] else "", node=node).t -= 1.0
    story.lose(NODES[4], "its agent doesn't answer")


@LOOKS
@pytest.mark.parametrize("view", VIEWS)
def test_monitor_snapshot(
    story: Any,
    engine: Any,
    app_context: Any,
    clock: Any,
    snap_compare: Any,
    theme: str,
    size: tuple[int, int],
    view: str,
) -> None:
    on_a_cluster(story) if view in ("cluster", "nodes", "node") else on_a_machine(story)

    async def look(pilot: Any) -> None:
        await pilot.press(*VIEWS[view])
        await until_unchanged(pilot)

    app = BenchtuiApp(app_context, story.path, engine, theme=theme, clock=clock)
    assert snap_compare(app, terminal_size=size, run_before=look)

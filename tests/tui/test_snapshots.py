"""Snapshots of the Monitor in two sizes, with a fake clock."""

from typing import Any

import pytest
from pictured import until_unchanged

from benchtui.tui.app import BenchtuiApp


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_monitor_snapshot_while_measuring(
    story: Any, engine: Any, app_context: Any, clock: Any, snap_compare: Any, size: tuple[int, int]
) -> None:
    story.begin(batch_sizes=(1, 2, 4, 8, 16)).case(0, 10.0, 120, "random weights").telemetry().telemetry()
    story.start(1).finish(1, "failed", reason="worker killed by SIGKILL").say("case 2 failed", "warning")
    story.start(2).prepare(2, "random weights").steps(2, [40.0, 26.0], "warmup")
    story.steps(2, [25.0 + step % 4 / 5 for step in range(12)])
    app = BenchtuiApp(app_context, story.path, engine, clock=clock)
    assert snap_compare(app, terminal_size=size, run_before=until_unchanged)

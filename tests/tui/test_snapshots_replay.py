"""Snapshots of a replay in two sizes, with a fake clock."""

from typing import Any

import pytest

from benchtui.tui.app import BenchtuiApp
from benchtui.tui.replay.player import ReplayTarget, Start


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_replay_snapshot_in_the_middle(
    story: Any, app_context: Any, clock: Any, snap_compare: Any, size: tuple[int, int]
) -> None:
    story.begin(batch_sizes=(1, 2, 4, 8, 16)).case(0, 10.0, 120, "random weights").telemetry().telemetry()
    story.telemetry(throttle="hw_thermal").start(1).wait(1.0)
    story.finish(1, "failed", reason="worker killed by SIGKILL")
    story.say("case 2 failed", "warning").start(2).wait(2.0).prepare(2, "random weights")
    story.steps(2, [40.0, 26.0], "warmup").steps(2, [25.0 + step % 4 / 5 for step in range(12)])
    story.wait(1.0).steps(2, [25.0] * 8).finish(2).wait(1.0)
    story.start(3).wait(1.0).finish(3, "oom", reason="full").finish(4, "skipped", reason="larger").end()

    async def look(pilot: Any) -> None:
        for _ in range(2):  # outliers are looked for once the moment is reached
            await pilot.pause()
            pilot.app.screen.tick()

    start = Start(4.0, ReplayTarget(percent=80))
    app = BenchtuiApp(app_context, story.path, None, start=start, clock=clock)
    assert snap_compare(app, terminal_size=size, run_before=look)

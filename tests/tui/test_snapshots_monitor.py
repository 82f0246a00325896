"""Pictures of the Monitor's panels, pages and lines to type, so that a change of their looks is seen."""

from typing import Any

import pytest

from benchtui.tui.app import BenchtuiApp

VIEWS = {
    "signs": (),
    "histogram": ("H",),
    "zoomed band": ("z",),
    "machine": ("z", "tab", "tab"),
    "parts": ("z", "tab", "tab", "tab"),
    "sorted": ("s", "s", "s", "S"),
    "filter": ("slash", "b", "s", "=", "1"),
    "add": ("a", *"batch_size=x"),
    "columns": ("c",),
    "help": ("question_mark",),
}


@pytest.mark.parametrize("theme", ["benchtui-dark", "benchtui-light"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["small", "usual"])
@pytest.mark.parametrize("view", VIEWS)
def test_the_monitor(
    story: Any,
    engine: Any,
    surroundings: Any,
    clock: Any,
    snap_compare: Any,
    theme: str,
    size: tuple[int, int],
    view: str,
) -> None:
    story.begin(batch_sizes=(1, 2, 4, 8, 16), gpus=2, iterations=100)
    story.case(0, 10.0, 120, "random weights").telemetry(2).case(1, 18.0, 120, "random weights")
    story.start(2).prepare(2, "random weights").steps(2, [40.0, 26.0], "warmup")
    story.steps(2, [25.0 + step % 7 / 5 for step in range(40)])
    story.telemetry(2, throttle="sw_thermal").t -= 1.0
    story.steps(2, [25.5 + step % 4 / 5 for step in range(20)] + [60.0])
    app = BenchtuiApp(surroundings, story.path, engine, theme=theme, clock=clock)
    assert snap_compare(app, terminal_size=size, press=VIEWS[view])

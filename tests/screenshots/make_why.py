"""Make the pictures of the page Why, at three sizes: a made session, with the profiles of the tests."""

import asyncio
import sys
import tempfile
from pathlib import Path

from benchtui.sessions.events import CaseFinished, CaseStarted, SessionFinished, SessionStarted, Steps
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Axes, Sweep, cases
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext

HERE = Path(__file__).parent
KEYS = {(80, 24): ("g", "W"), (120, 40): ("g", "W", "b"), (200, 50): ("g", "W")}
"""Keys that lead to the page, by the terminal's size: one case, and two side by side."""


def explained_session(folder: Path) -> Path:
    """Write a session of two precisions, with their profiles."""
    sys.path.insert(0, str(HERE.parent))
    from explained import explained  # a module of the tests

    path = folder / "explained.json"
    sweep = Sweep(name="made", model="m", axes=Axes(precision=("fp32", "bf16")))
    plan = tuple(case.config for case in cases(sweep))
    journal = Journal(path)
    journal.append(SessionStarted(t=0.0, id="made", created="", sweep=sweep, plan=plan, host=Host()))
    for index, (config, ms) in enumerate(zip(plan, (28.5, 16.3), strict=True)):
        journal.append(CaseStarted(t=1.0, case=index, config=config))
        journal.append(Steps(t=2.0, case=index, phase="measure", wall_ms=[ms] * 20))
        journal.append(CaseFinished(t=3.0, case=index, outcome="ok"))
    for event in (explained(0), explained(1, fast=True)):
        journal.append(event)
    journal.append(SessionFinished(t=99.0, outcome="completed"))
    journal.close()
    return path


async def picture(session: Path, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    """Open the page, and save the screen as an SVG."""
    app = BenchtuiApp(AppContext.here(), session, None, theme="benchtui-dark", clock=lambda: 0.0)
    async with app.run_test(size=size) as pilot:
        for key in ("", *keys):
            await pilot.press(*([key] if key else []))
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
        (HERE / f"why-{size[0]}.svg").write_text(app.export_screenshot(title="benchtui"), "utf-8")


def main() -> int:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        session = explained_session(Path(folder))
        for size, keys in KEYS.items():
            asyncio.run(picture(session, size, keys))
    return 0


if __name__ == "__main__":
    sys.exit(main())

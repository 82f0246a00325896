"""Make the screenshots of README and docs: the app on the simulated session, near and at its end.

Those of the page Why show a made session, with the profiles of the tests.
"""

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchtui.engine.client import Engine
from benchtui.sessions.events import CaseFinished, CaseStarted, SessionFinished, SessionStarted, Steps
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library.paths import demo_path
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Axes, Sweep, cases
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext

HERE = Path(__file__).parent
SESSION = demo_path()
SIZE = (120, 40)
WHY_SIZES = ((80, 24), (120, 40), (200, 50))
MOMENT = 0.9
"""Share of the session's events shown in the screenshot of the Monitor."""


@dataclass(frozen=True)
class StillRunning(Engine):
    """Stand-in for the engine of a running sweep."""

    def alive(self) -> bool:
        """Return True, so that the Monitor shows a running sweep."""
        return True


async def picture(
    session: Path, engine: Engine | None, keys: tuple[str, ...], name: str, size: tuple[int, int] = SIZE
) -> None:
    """Open the app on a session, press keys, and save the screen as an SVG."""
    app = BenchtuiApp(AppContext.here(), session, engine, theme="benchtui-dark", clock=lambda: 0.0)
    async with app.run_test(size=size) as pilot:
        for key in ("", *keys):
            await pilot.press(*([key] if key else []))
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
        (HERE / f"{name}.svg").write_text(app.export_screenshot(title="benchtui"), "utf-8")


def explained_session(folder: Path) -> Path:
    """Write a session of two precisions, with their profiles."""
    sys.path.insert(0, str(HERE.parent))
    from explained import explained  # a module of the tests

    path, sweep = (
        folder / "explained.json",
        Sweep(name="made", model="m", axes=Axes(precision=("fp32", "bf16"))),
    )
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


def main() -> int:
    """Make all screenshots."""
    lines = SESSION.read_text("utf-8").splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        running = Path(folder) / "quick.json"
        running.write_text("".join(lines[: int(len(lines) * MOMENT)]), "utf-8")
        engine = StillRunning(session_id="", path=running, pid=0)
        asyncio.run(picture(running, engine, (), "monitor"))
    with tempfile.TemporaryDirectory() as folder:
        session = explained_session(Path(folder))
        for size in WHY_SIZES:
            keys = ("g", "W", "b") if size == SIZE else ("g", "W")
            asyncio.run(picture(session, None, keys, f"why-{size[0]}", size))
    asyncio.run(picture(SESSION, None, ("3", "right", "right", "right"), "charts"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

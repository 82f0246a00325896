"""Make the screenshots of the README: the app on the simulated session, near and at its end."""

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchtui.engine.client import Engine
from benchtui.sessions.library.paths import demo_path
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext

HERE = Path(__file__).parent
SESSION = demo_path()
SIZE = (120, 40)
MOMENT = 0.9
"""Share of the session's events shown in the screenshot of the Monitor."""


@dataclass(frozen=True)
class StillRunning(Engine):
    """Stand-in for the engine of a running sweep."""

    def alive(self) -> bool:
        """Return True, so that the Monitor shows a running sweep."""
        return True


async def picture(session: Path, engine: Engine | None, keys: tuple[str, ...], name: str) -> None:
    """Open the app on a session, press keys, and save the screen as an SVG."""
    app = BenchtuiApp(AppContext.here(), session, engine, theme="benchtui-dark", clock=lambda: 0.0)
    async with app.run_test(size=SIZE) as pilot:
        for key in ("", *keys):
            await pilot.press(*([key] if key else []))
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
        (HERE / f"{name}.svg").write_text(app.export_screenshot(title="benchtui"), "utf-8")


def main() -> int:
    """Make all screenshots."""
    lines = SESSION.read_text("utf-8").splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        running = Path(folder) / "quick.json"
        running.write_text("".join(lines[: int(len(lines) * MOMENT)]), "utf-8")
        engine = StillRunning(session_id="", path=running, pid=0)
        asyncio.run(picture(running, engine, (), "monitor"))
    asyncio.run(picture(SESSION, None, ("3", "right", "right", "right"), "charts"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Make the pictures of README and docs: pages of the app over bundled sessions, dark and light."""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace
from simulated.make_demo import write_demo
from textual.worker import WorkerCancelled

from benchtui.engine.client import Engine
from benchtui.sessions.library.paths import demo_path
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import ComparisonRequested
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings

HERE = Path(__file__).parent
SIZE = (120, 40)
MOMENT = 0.9
"""Share of the session's events shown in the picture of the Monitor."""
UNCHANGED = 3
BETWEEN_S = 0.2
"""A picture is made once this many in a row, so many seconds apart, were the same."""
THEMES = {"": "benchtui-dark", "-light": "benchtui-light"}


@dataclass(frozen=True)
class StillRunning(Engine):
    """Stand-in for the engine of a running sweep."""

    def alive(self) -> bool:
        """Return True, so that the Monitor shows a running sweep."""
        return True


@dataclass(frozen=True)
class Picture:
    """One page of the app, as README and docs show it."""

    name: str
    keys: tuple[str, ...] = ()
    """Keys pressed before the picture is made."""
    open: Callable[[Path], tuple[Path | None, Engine | None]] = lambda folder: (demo_path(), None)
    """Session to open and its engine, given a scratch folder."""
    compared: bool = False
    """Whether two sessions are compared."""


def running(folder: Path) -> tuple[Path, Engine]:
    """Write a session that has not ended, and pretend that its engine still runs."""
    lines = demo_path().read_text("utf-8").splitlines(keepends=True)
    path = folder / "quick.json"
    path.write_text("".join(lines[: int(len(lines) * MOMENT)]), "utf-8")
    return path, StillRunning(session_id="", path=path, pid=0)


PICTURES = (
    Picture("monitor", open=running),
    Picture("charts", ("3", "right", "right", "right")),
    Picture("case", ("enter",)),
    Picture("compare", compared=True),
    Picture("editor", open=lambda folder: (None, None)),
)


async def draw(picture: Picture, theme: str, folder: Path) -> str:
    """Open the app, press the keys of a picture, and return the screen as an SVG."""
    session, engine = picture.open(folder)
    preferences = Preferences(Settings(quiet="off"))  # quiet mode would show the load of this machine
    context = replace(
        AppContext.here(),
        running=list,
        recorded=list,
        folder=folder,
        missing_device=lambda: "",
        preferences=preferences,
    )
    app = BenchtuiApp(context, session, engine, theme=theme, clock=lambda: 0.0)
    async with app.run_test(size=SIZE) as pilot:

        async def settle() -> None:
            """Wait until nothing changes any more: a file is read in parts, on a timer."""
            seen, same = "", 0
            while same < UNCHANGED:
                with suppress(WorkerCancelled):  # a newer one replaced it
                    await pilot.app.workers.wait_for_complete()
                await pilot.pause(BETWEEN_S)
                shown = app.export_screenshot()
                same = same + 1 if shown == seen else 0
                seen = shown

        await settle()
        if picture.compared:
            paths = tuple(folder / f"{name}.json" for name in ("before", "after"))
            for seed, path in enumerate(paths, 1):
                write_demo(path, seed=seed)
            app.post_message(ComparisonRequested(paths))
            await settle()
        for key in picture.keys:
            await pilot.press(key)
            await settle()
        return app.export_screenshot(title="benchtui")


def main() -> int:
    """Make all pictures."""
    for picture in PICTURES:
        for suffix, theme in THEMES.items():
            with tempfile.TemporaryDirectory() as folder:
                svg = asyncio.run(draw(picture, theme, Path(folder)))
            (HERE / f"{picture.name}{suffix}.svg").write_text(svg, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Make the pictures of README and docs: pages of the app over bundled sessions, dark and light."""

import asyncio
import dataclasses
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, chdir
from dataclasses import dataclass
from pathlib import Path

from explained import explained
from msgspec.structs import replace
from pictured import until_unchanged
from played_machine import PlayedMachine, add_model
from simulated.make_demo import write_demo
from textual.pilot import Pilot

from benchtui.engine.client import Engine
from benchtui.sessions.advice.find_sweep import DeviceSupport
from benchtui.sessions.events import CaseFinished, CaseStarted, SessionFinished, SessionStarted, Steps
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library.paths import demo_path, demo_paths, entry_of
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Axes, Sweep, cases
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import ComparisonRequested, ExitReason
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings

TARGET = Path(__file__).parents[3] / "docs" / "pictures"
SIZE, NARROW = (120, 40), (60, 24)
"""Terminals of the pictures for a wide page, and for a phone."""
MOMENT = 0.9
"""Share of the session's events shown in the picture of the Monitor."""
GPUS = 4
MODELS = {
    "meta-llama/Llama-3.2-1B": "LlamaForCausalLM",
    "org/own-encoder": "BertModel",
    "sentence-transformers/all-MiniLM-L6-v2": "BertModel",
}
"""Models on Home, with their architectures."""
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
    size: tuple[int, int] = SIZE
    hostname: str = "vm"
    """By default the host of the bundled session that was measured, from which the editor's estimates learn."""


def running(folder: Path) -> tuple[Path, Engine]:
    """Write a session that has not ended, and pretend that its engine still runs."""
    lines = [
        line for line in demo_path().read_text("utf-8").splitlines(keepends=True) if '"explained"' not in line
    ]
    path = folder / "quick.json"
    path.write_text("".join(lines[: int(len(lines) * MOMENT)]), "utf-8")
    return path, StillRunning(session_id="", path=path, pid=0)


def with_profiles(folder: Path) -> tuple[Path, None]:
    """Write a session of two precisions, with the profiles of the tests."""
    path = folder / "explained.json"
    sweep = Sweep(name="explained", model="m", axes=Axes(precision=("fp32", "bf16")))
    plan = tuple(case.config for case in cases(sweep))
    journal = Journal(path)
    journal.append(SessionStarted(t=0.0, id="explained", created="", sweep=sweep, plan=plan, host=Host()))
    for index, (config, ms) in enumerate(zip(plan, (28.5, 16.3), strict=True)):
        journal.append(CaseStarted(t=1.0, case=index, config=config))
        journal.append(Steps(t=2.0, case=index, phase="measure", wall_ms=[ms] * 20))
        journal.append(CaseFinished(t=3.0, case=index, outcome="ok"))
    for event in (explained(0), explained(1, fast=True)):
        journal.append(event)
    journal.append(SessionFinished(t=99.0, outcome="completed"))
    journal.close()
    return path, None


PAGES = (
    Picture("home", open=lambda folder: (None, None), hostname="gpu-box"),
    Picture("end"),
    Picture("monitor", open=running),
    Picture("charts", ("3",)),
    Picture("case", ("enter",)),
    Picture("compare", compared=True),
    Picture("editor", keys=("1",), open=lambda folder: (None, None)),
)
PICTURES = (
    *PAGES,
    *(dataclasses.replace(page, name=f"{page.name}-narrow", size=NARROW) for page in PAGES),
    Picture("why-80", ("g", "W"), with_profiles, size=(80, 24)),
    Picture("why-120", ("g", "W", "b"), with_profiles),
    Picture("why-200", ("g", "W"), with_profiles, size=(200, 50)),
)


@asynccontextmanager
async def shown(
    session: Path | None,
    engine: Engine | None,
    theme: str,
    folder: Path,
    size: tuple[int, int] = SIZE,
    hostname: str = "gpu-box",
) -> AsyncIterator[Pilot[ExitReason]]:
    """Run the app over a session, on a machine of four played GPUs with three models, in a scratch folder."""
    context = replace(
        AppContext.here(),
        running=list,
        recorded=list,
        known=lambda: list(filter(None, map(entry_of, demo_paths()))),
        bundled=dict,
        folder=folder,
        hostname=hostname,
        watch=PlayedMachine(GPUS).watch,
        device_support=lambda: DeviceSupport(device="cuda:0", processors=96),
        missing_device=lambda: lambda config: "",
        preferences=Preferences(Settings(quiet="off")),  # a loaded machine would lower the rate
    )
    with chdir(folder):
        for model, architecture in MODELS.items():
            add_model(Path("hub"), model, architecture)
        os.environ["HF_HUB_CACHE"] = "hub"
        app = BenchtuiApp(context, session, engine, theme=theme, clock=lambda: 0.0)
        async with app.run_test(size=size) as pilot:
            await until_unchanged(pilot)
            yield pilot


async def draw(picture: Picture, theme: str, folder: Path) -> str:
    """Open the app, press the keys of a picture, and return the screen as an SVG."""
    async with shown(*picture.open(folder), theme, folder, picture.size, picture.hostname) as pilot:
        if picture.compared:
            paths = tuple(folder / f"{name}.json" for name in ("before", "after"))
            for seed, path in enumerate(paths, 1):
                write_demo(path, seed=seed)
            pilot.app.post_message(ComparisonRequested(paths))
            await until_unchanged(pilot)
        for key in picture.keys:
            await pilot.press(key)
            await until_unchanged(pilot)
        return pilot.app.export_screenshot(title="benchtui")


def main() -> int:
    """Make all pictures."""
    for picture in PICTURES:
        for suffix, theme in THEMES.items():
            with tempfile.TemporaryDirectory() as folder:
                svg = asyncio.run(draw(picture, theme, Path(folder)))
            (TARGET / f"{picture.name}{suffix}.svg").write_text(svg, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The app on a session file as it grows, its engine always there. Usage: watched_screen.py SESSION."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import lag

from benchtui.tui import app
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.shell.context import AppContext


class Engine:
    """An engine that does nothing."""

    session_id, pid, path = "benchmark", 1, Path(sys.argv[1])

    def alive(self) -> bool:
        """It never ends."""
        return True


class WatchedApp(BenchtuiApp):
    """The app, which records how late its event loop is."""

    CSS_PATH = Path(app.__file__).with_name("app.tcss")

    def on_mount(self) -> None:
        """Start to record the lag."""
        super().on_mount()
        self.lag_task = asyncio.create_task(lag.write_lag())


if __name__ == "__main__":
    unused: Any = None
    app_context = AppContext(unused, list, lambda path: None, list, str, Path())
    engine: Any = Engine()
    WatchedApp(app_context, Engine.path, engine).run(mouse=False)

"""The app on a session file as it grows, its engine always there. Usage: watched_screen.py SESSION."""

import sys
from pathlib import Path
from typing import Any

from benchtui.tui.app import BenchtuiApp
from benchtui.tui.surroundings import Surroundings


class Engine:
    """An engine that does nothing."""

    session_id, pid, path = "benchmark", 1, Path(sys.argv[1])

    def alive(self) -> bool:
        """It never ends."""
        return True


if __name__ == "__main__":
    unused: Any = None
    surroundings = Surroundings(unused, list, lambda path: None, list, str, Path())
    engine: Any = Engine()
    BenchtuiApp(surroundings, Engine.path, engine).run(mouse=False)

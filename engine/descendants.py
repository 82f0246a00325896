"""The processes that another one has started, whatever they did to get away from it."""

from contextlib import suppress

import psutil

MOST_LOOKS = 5
"""How often to look for those that were started while the others were killed."""


def kill_descendants(pid: int) -> None:
    """Kill all processes below one; it should adopt orphans (see ``isolation``), or those aren't found."""
    for _ in range(MOST_LOOKS):
        try:
            below = psutil.Process(pid).children(recursive=True)
        except (psutil.Error, OSError):  # the latter where the engine is short of files
            return
        if not below:
            return
        for process in below:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(below, timeout=0.2)

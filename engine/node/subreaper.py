"""Subreaper: lets the fork server adopt the orphans of dead workers, and kills them when it exits.

Imported by the fork server only, before anything else. A living worker adopts the orphans of its own
descendants. The remaining processes are killed when the server exits, however the engine ended.
"""

import atexit
import os
import warnings

from benchtui.engine.process_tree import adopt_orphans, kill_descendants

_server = os.getpid()


def _end_descendants() -> None:
    """Kill the server's descendants at exit. A forked worker inherits this handler and must not run it."""
    if os.getpid() == _server:
        kill_descendants(_server)


adopt_orphans()
# the server warns about each orphan that exits
warnings.filterwarnings("ignore", "forkserver: waitpid returned unexpected pid")
atexit.register(_end_descendants)

"""What the fork server imports before all else, and nothing else does: it adopts the orphans of dead workers.

A worker adopts those of its own descendants, until it dies. Whatever is left when the server ends, however its
engine did, ends with it.
"""

import atexit
import os
import warnings

from benchtui.engine.process_tree import adopt_orphans, kill_descendants

_server = os.getpid()


def _end_descendants() -> None:
    """Kill what is left below the server; a worker is a copy of it, and isn't to."""
    if os.getpid() == _server:
        kill_descendants(_server)


adopt_orphans()
# what the server says of each orphan that ends
warnings.filterwarnings("ignore", "forkserver: waitpid returned unexpected pid")
atexit.register(_end_descendants)

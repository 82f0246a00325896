"""Disable garbage collection during start-up, while a session is read and while a report is written.

The loaded objects stay alive anyway. Each scan of hundreds of thousands of them takes tenths of a second,
during which key presses are not handled.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def let_be() -> None:
    """Disable garbage collection."""
    gc.disable()


@contextmanager
def left_alone() -> Iterator[None]:
    """Disable garbage collection within a block.

    Writing a report of 20,000 cases takes 10% less time this way, and no more memory.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_from_now_on() -> None:
    """Enable garbage collection again, ignoring all objects that exist by now."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()

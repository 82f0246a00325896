"""Disable garbage collection during start-up, while a session is read and while a report is written.

The loaded objects stay alive anyway. Each scan of hundreds of thousands of them takes tenths of a second,
during which key presses are not handled.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def disable() -> None:
    """Disable garbage collection."""
    gc.disable()


@contextmanager
def gc_disabled() -> Iterator[None]:
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


def freeze_and_enable() -> None:
    """Enable garbage collection again, ignoring all objects that exist by now."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()

"""Reads a session file in slices, so that other threads get their turn while a long one is read."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal import journal
from benchtui.sessions.journal.journal import Read
from benchtui.sessions.state.session import Session

SLICE_BYTES = 2**18
"""Decoding a whole file at once would hold the interpreter for as long as that takes."""


class AbandonedError(BenchtuiError):
    """Reading was given up, since nobody waits for it any more."""


def load(
    path: Path,
    apply: Callable[[Session, Read], None] = Session.apply,
    wanted: Callable[[], bool] = lambda: True,
) -> Session:
    """Fold a whole session file as ``Session.load`` does, and let other threads run meanwhile.

    ``apply`` folds an event in the place of ``Session.apply``; ``wanted`` is asked at every slice.

    Raises:
        AbandonedError: once it isn't wanted any more.
        BenchtuiError: where it can't be read.
    """
    session = Session()
    try:
        with closing(journal.slices(path, SLICE_BYTES)) as slices:
            for events, torn in slices:
                session.torn = torn
                if not wanted():
                    raise AbandonedError(f"{path}: not read to its end")
                for event in events:
                    apply(session, event)
    except AbandonedError:
        raise
    except BenchtuiError:
        return Session.load(path)  # a file whose lines another tool laid out anew is read as a whole
    return session if session.started else Session.load(path)

"""Recorded sessions, read before events are appended to them."""

from pathlib import Path
from typing import Literal

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.session import Session


def read_for(purpose: Literal["resume", "explain"], path: Path) -> Session:
    """Read a session line by line, because a reformatted file can't be appended to.

    Raises:
        BenchtuiError: if it can't be read. The message names the purpose.
    """
    try:
        return Session.by_line(path, keep_steps=False)
    except BenchtuiError as error:
        reason = str(error).removeprefix(f"{path}").lstrip(",: ")
        raise BenchtuiError(f"{path}: can't {purpose}: {reason}") from error

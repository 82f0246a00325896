"""Text of exceptions: JSON-safe, limited in length, and available even if ``__str__`` raises."""

import re
from contextlib import suppress
from typing import NamedTuple

MAX_TEXT_CHARS = 1_000_000
"""Maximum number of characters to pass on. The session file stores fewer (``session_writer``)."""

_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)
_WRAPPERS = (
    re.compile(r"Caught \w+ (in .+?)\.?$", re.MULTILINE),  # torch.utils.data.DataLoader, DataParallel
    re.compile(r"^-- P(rocess \d+) terminated with the following error"),  # torch.multiprocessing.spawn
)
_LOST_CHILD = re.compile(
    r"exited unexpectedly|killed by signal|terminated (abruptly|with)"
    r"|\b(EOFError|Connection\w+Error|BrokenPipeError)\b"
)


class ChildError(NamedTuple):
    """Exception that a child process raised, as the text of its traceback tells."""

    line: str
    """Class and first line of its text."""
    where: str
    """The process in words, such as ``in DataLoader worker process 0``."""
    frames: tuple[tuple[str, int], ...]
    """File and line of each frame, the outermost first."""


def text_of(error: BaseException) -> str:
    """Return the text of an exception, or a note if its ``__str__`` raises."""
    text = ""
    try:
        text = str(error)
    except BaseException as raised:  # noqa: BLE001  (model or user code, which has already failed)
        return f"(no message: __str__ raised {type(raised).__name__})"
    return sendable(text)


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's text; empty if there is none."""
    return next(iter(text_of(error).strip().splitlines()), "")


def described(error: BaseException) -> str:
    """Return the class and the first line of an exception; that of a child process if it passes one on."""
    if child := child_error(error):
        return sendable(f"{child.line} ({child.where})")
    line = first_line(error)
    return sendable(f"{type(error).__name__}: {line}" if line else type(error).__name__)


def child_error(error: BaseException) -> ChildError | None:
    """Return the exception of a child process whose traceback is in the text of this one, or of its cause."""
    for raised in (error, error.__cause__):
        text = text_of(raised) if raised else ""
        if line := last_raised(text):
            frames = _FRAME.findall(text.rpartition(_TRACEBACK)[2])
            return ChildError(line, _process_in_words(text), tuple((file, int(at)) for file, at in frames))
    return None


def last_raised(text: str) -> str | None:
    """Return the class and first line of the exception that the last traceback in a text ends with."""
    _, heading, trace = text.rpartition(_TRACEBACK)
    lines = (line.rstrip() for line in trace.splitlines() if line.strip() and not line[0].isspace())
    return next(lines, None) if heading else None


def blames_child(reason: str) -> bool:
    """Return whether a reason is that a child process is gone, which has said why on standard error."""
    return _LOST_CHILD.search(reason) is not None


def _process_in_words(text: str) -> str:
    caught, spawned = (pattern.search(text.strip()) for pattern in _WRAPPERS)
    if caught:
        return caught[1]
    return f"in p{spawned[1]}" if spawned else "in a child process"


def sendable(text: str) -> str:
    """Truncate a text and escape lone surrogates, which can't be encoded as UTF-8."""
    with suppress(UnicodeEncodeError):
        text[:MAX_TEXT_CHARS].encode()
        return text[:MAX_TEXT_CHARS]
    return text[:MAX_TEXT_CHARS].encode("utf-8", "backslashreplace").decode()

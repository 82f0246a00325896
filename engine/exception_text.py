"""Text of exceptions: JSON-safe, limited in length, and available even if ``__str__`` raises."""

from contextlib import suppress

LONGEST = 1_000_000
"""Maximum number of characters passed on. The session file keeps fewer (``text_limits``)."""


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
    """Return the class and the first line of an exception."""
    said = first_line(error)
    return sendable(f"{type(error).__name__}: {said}" if said else type(error).__name__)


def sendable(text: str) -> str:
    """Truncate a text and escape lone surrogates, which JSON can't carry in UTF-8."""
    with suppress(UnicodeEncodeError):
        text[:LONGEST].encode()
        return text[:LONGEST]
    return text[:LONGEST].encode("utf-8", "backslashreplace").decode()

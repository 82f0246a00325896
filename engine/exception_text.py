"""Text of exceptions: JSON-safe, limited in length, and available even if ``__str__`` raises."""

from contextlib import suppress

MAX_TEXT_CHARS = 1_000_000
"""Maximum number of characters to pass on. The session file stores fewer (``text_limits``)."""


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
    line = first_line(error)
    return sendable(f"{type(error).__name__}: {line}" if line else type(error).__name__)


def sendable(text: str) -> str:
    """Truncate a text and escape lone surrogates, which can't be encoded as UTF-8."""
    with suppress(UnicodeEncodeError):
        text[:MAX_TEXT_CHARS].encode()
        return text[:MAX_TEXT_CHARS]
    return text[:MAX_TEXT_CHARS].encode("utf-8", "backslashreplace").decode()

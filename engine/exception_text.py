"""What an exception says, whatever it does when it is asked: fit to be sent, and of a bounded length."""

from contextlib import suppress

LONGEST = 1_000_000
"""Characters that are handed on; the record keeps fewer (``bounds``)."""


def text_of(error: BaseException) -> str:
    """The text of an exception; of one that can't give it, why."""
    text = ""
    try:
        text = str(error)
    except BaseException as raised:  # noqa: BLE001  (the model's or the user's code, which is what has failed already)
        return f"(no text: its __str__ raised {type(raised).__name__})"
    return sendable(text)


def first_line(error: BaseException) -> str:
    """The first line of what an exception says; nothing where it says nothing."""
    return next(iter(text_of(error).strip().splitlines()), "")


def described(error: BaseException) -> str:
    """Class and first line of an exception."""
    said = first_line(error)
    return sendable(f"{type(error).__name__}: {said}" if said else type(error).__name__)


def sendable(text: str) -> str:
    """A text as JSON can carry it: half of a surrogate pair, which UTF-8 doesn't know, is written out."""
    with suppress(UnicodeEncodeError):
        text[:LONGEST].encode()
        return text[:LONGEST]
    return text[:LONGEST].encode("utf-8", "backslashreplace").decode()

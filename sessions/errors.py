"""Exceptions that users see as one line of text."""

from collections.abc import Iterator
from contextlib import contextmanager


class BenchtuiError(Exception):
    """Error that a user can fix.

    The text says what is wrong, where, the value received and what is allowed.
    """


def os_error_text(error: OSError | ValueError) -> str:
    """Return the system's error message without the path that it adds."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def os_errors_as(path: object, what: str) -> Iterator[None]:
    """Raise BenchtuiError with the path, what can't be done, and the system's message for its errors within."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise BenchtuiError(f"{path}: {what}: {os_error_text(error)}") from error


class CaseSkippedError(BenchtuiError):
    """Raised when a case turns out to be meaningless; the text is the recorded reason."""


class AbandonedError(BenchtuiError):
    """Raised when reading is abandoned because the result is no longer wanted."""


class NothingToResumeError(BenchtuiError):
    """Raised when a session to be resumed has no cases left to run."""

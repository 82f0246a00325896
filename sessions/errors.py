"""Exceptions that users see as one line of text."""


class BenchtuiError(Exception):
    """Error that a user can fix.

    The text says what is wrong, where, the value received and what is allowed.
    """


def os_error_text(error: OSError | ValueError) -> str:
    """Return the system's error message without the path that it adds."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class CaseSkippedError(BenchtuiError):
    """Raised when a case turns out to be meaningless; the text is the recorded reason."""


class AbandonedError(BenchtuiError):
    """Raised when reading is abandoned because the result is no longer wanted."""


class NothingToResumeError(BenchtuiError):
    """Raised when a session to be resumed has no cases left to run."""

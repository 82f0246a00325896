"""The one exception that users meet as a line of text."""


class BenchtuiError(Exception):
    """Something a user can mend; its text says what, where, the value received and what is allowed."""


def reason(error: OSError | ValueError) -> str:
    """What the system says is wrong, without the path that it adds."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class CaseSkippedError(BenchtuiError):
    """A case turned out to make no sense; its text is the recorded reason."""


class ShortageError(BenchtuiError):
    """The system is short of files; that may be over after a while."""


class NothingLeftError(BenchtuiError):
    """A session was to be resumed of which nothing is left to run."""

"""The one exception that users meet as a line of text."""


class BenchtuiError(Exception):
    """Something a user can mend; its text says what, where, the value received and what is allowed."""

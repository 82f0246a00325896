"""Timestamps of events, as recorded in session files."""

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the current time in UTC, ISO 8601, in whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

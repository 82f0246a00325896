"""A session as it grows: reading it, and figures of cases that still change."""

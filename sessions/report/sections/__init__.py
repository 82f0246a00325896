"""Sections of the report of a session."""

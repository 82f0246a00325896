"""Sections of the session report."""

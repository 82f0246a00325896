"""Sweep view: edit a sweep, preview its cases, and start it."""

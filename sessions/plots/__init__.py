"""Plots of a session for reports, drawn with matplotlib."""

"""Formats of other tools: one module reads the results of each."""

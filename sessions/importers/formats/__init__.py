"""Formats of other tools, with one module per tool."""

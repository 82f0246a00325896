"""Sections of a comparison, one module each."""

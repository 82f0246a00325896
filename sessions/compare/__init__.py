"""Comparison of sessions."""

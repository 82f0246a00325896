"""Panels of the Monitor and of the case page."""

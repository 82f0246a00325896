"""Neighbors: what this machine does without the sweep, and whose processes those are."""

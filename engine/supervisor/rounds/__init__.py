"""Rounds: one round of a case, what follows from its end, and the planning of further rounds."""

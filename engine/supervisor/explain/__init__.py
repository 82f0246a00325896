"""Explaining cases: the queue of profiled cases, and those of recorded sessions."""

"""Explaining cases: the queue of cases to profile, and profiling for recorded sessions."""

"""Benchmark engine: runs a sweep, each case in its own process, and writes the session file."""

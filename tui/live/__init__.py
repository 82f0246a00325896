"""Live sessions: reading a growing session file, and metrics of unfinished cases."""

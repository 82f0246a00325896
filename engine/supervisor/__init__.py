"""Supervisor: the engine's own process. It schedules cases, writes the session file and serves commands."""

"""The engine's own process: which case runs next, the session file, commands."""

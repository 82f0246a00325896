"""The session file: one event a line, appended while the sweep runs."""

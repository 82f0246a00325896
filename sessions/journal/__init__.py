"""Session file: one event per line, appended while the sweep runs."""

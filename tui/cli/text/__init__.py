"""Plain-text output of commands."""

"""The replay of a recorded session."""

"""Replay of a recorded session: its state at any moment, and markers to jump to."""

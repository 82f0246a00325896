"""Replay of a recorded session: its state at any moment, and the moments to jump to."""

"""Replay of recorded sessions."""

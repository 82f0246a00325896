"""Session state, accumulated from events."""

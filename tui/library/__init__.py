"""Library view: recorded sessions, and actions on them."""

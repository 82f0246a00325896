"""The library of sessions."""

"""The comparison of sessions."""

"""The sweep editor."""

"""The Charts."""

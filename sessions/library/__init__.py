"""The folder of sessions."""

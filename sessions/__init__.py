"""The record: its vocabulary, its file, and what it means."""

"""Monitor: the screen of a running or recorded sweep."""

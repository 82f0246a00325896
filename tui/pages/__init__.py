"""Pages shared by all screens: help, text, and the empty state."""

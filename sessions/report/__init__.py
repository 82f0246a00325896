"""Reports on one session, and comparisons of several."""

"""The report of a session, and the comparison of several."""

"""Worker: the measured process of a case, with its timed loop and self-readings."""

"""The measured process: the timed loop and what it reads of itself."""

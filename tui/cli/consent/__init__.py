"""Consent: yes or no on the terminal, and ``--trust`` for code and variables."""

"""Compare view: sessions compared with a base session."""

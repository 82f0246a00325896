"""``benchtui explain``: the command, and what it prints."""

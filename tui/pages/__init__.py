"""Pages that every place shows: help, text, no session."""

"""File access: regular files only, up to a size limit, never overwriting a session."""

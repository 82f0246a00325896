"""Session library: the folder of recorded sessions."""

"""Files as they are read and written: plain ones alone, bounded, never over a session."""

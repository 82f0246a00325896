"""Makes the record: runs a sweep, each case in a process of its own."""

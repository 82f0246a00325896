"""Shows the record: the command line and the screens."""

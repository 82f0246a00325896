"""User interface: the command line and the terminal app."""

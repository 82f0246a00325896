"""The report in a terminal: its parts as lines for any width, printed or as a page of the app."""

"""The report in a terminal: its Markdown as lines for any width, printed or as a page of the app."""

"""Custom tasks: a step of the user's own, and the case that it receives. Importing the case needs no torch."""

"""A recorded session at any moment, and what in it is worth going to."""

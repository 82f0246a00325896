"""Explanations of the time and memory of steps, from the profiles of cases."""

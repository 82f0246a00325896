"""Estimates of time and memory for cases that haven't run yet."""

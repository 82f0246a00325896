"""Plots of a session for reports; matplotlib draws them."""

"""Recommendation of the configuration to run."""

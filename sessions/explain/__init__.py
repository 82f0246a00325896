"""Explanations: what the profiles of cases say about the time and memory of their steps."""

"""Workloads: what one step of a task does."""

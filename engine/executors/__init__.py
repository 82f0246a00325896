"""Executors: where a case runs. Each gives a case's events as they come, and its outcome."""

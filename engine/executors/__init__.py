"""Executors: where cases run. Each gives the events of a case as they come, complete, its outcome the last."""

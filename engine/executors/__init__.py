"""Executors: where cases run. Each yields all events of a case as they arrive, CaseFinished last."""

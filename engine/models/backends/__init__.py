"""Backends: the network of a case, run by an engine other than torch from a stored artifact."""

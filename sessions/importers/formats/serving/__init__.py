"""Formats of load generators, which send requests to a server: one module reads the results of each."""

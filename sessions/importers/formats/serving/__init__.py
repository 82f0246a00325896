"""Formats of load generators, which send requests to a server, with one module per tool."""

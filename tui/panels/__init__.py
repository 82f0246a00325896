"""Panels that the Monitor and the page of a case are made of."""

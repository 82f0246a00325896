"""Waits before a case is measured: for a quiet machine, and for a cooler GPU."""

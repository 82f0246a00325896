"""Explanation of a case: its step under torch's profiler, in a process that measures nothing else."""

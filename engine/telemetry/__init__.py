"""Telemetry: readers of GPUs, host and processes, the sampler, and the host description."""

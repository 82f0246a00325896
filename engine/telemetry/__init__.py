"""Samplers of GPUs, machine and processes, and the description of the machine."""

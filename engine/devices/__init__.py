"""Devices: step timing, memory peaks and out-of-memory errors of CPU and CUDA."""

"""Devices: how each kind times a step, reads memory and tells errors apart."""

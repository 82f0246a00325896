"""GPU readers: the protocol, NVIDIA's reader, and which GPUs a process sees."""
